// SPDX-License-Identifier: Apache-2.0
#pragma once
// NumPy files: .npy (one array) and .npz (a zip archive of arrays). Format: NumPy's documentation of
// numpy.lib.format.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libmge/tensor/tensor.h"

namespace mge::cli {

// Reads versions 1–3 in C or Fortran order and either byte order; elements keep their type. Throws ModelError
// (exit code 5) with file and reason.
Tensor read_npy(const std::string& path);
Tensor parse_npy(std::span<const std::byte> bytes, const std::string& label);
// Returns the size of header and data of an array that starts with these bytes. `start` must have
// npy_header_bytes, or all bytes if there are fewer.
inline constexpr size_t npy_header_bytes = size_t(1) << 16;
size_t npy_size(std::span<const std::byte> start, const std::string& label);
// Before it is unpacked, an entry's size is checked against its header and the file limit
// (libmge/base/files/file_limit.h).
std::map<std::string, Tensor> read_npz(const std::string& path);
// For archives larger than memory: the names of the arrays, and one array. Throws UserError for an unknown
// name.
std::vector<std::string> npz_names(const std::string& path);
Tensor read_npz_array(const std::string& path, const std::string& name);
// Like the above, for an archive in memory. Errors call it `label`.
std::vector<std::string> npz_names(std::span<const std::byte> archive, const std::string& label);
Tensor read_npz_array(std::span<const std::byte> archive, const std::string& label, const std::string& name);

// NumPy's code of the elements without byte order, such as "f4"; empty: NumPy has no such elements.
std::string_view numpy_code(DType dtype);

// Writes the file atomically.
void write_npz(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& arrays);

}  // namespace mge::cli
