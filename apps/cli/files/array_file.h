// SPDX-License-Identifier: Apache-2.0
#pragma once
// numpy's files: .npy (one array) and .npz (a zip of them). Format: numpy's documentation of
// numpy.lib.format.

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libmge/tensor/tensor.h"

namespace mge::cli {

// Reads versions 1–3 in C order, of either byte order; elements keep their type. ModelError (exit code 5)
// names the file and what is wrong with it.
Tensor read_npy(const std::string& path);
Tensor parse_npy(std::span<const std::byte> bytes, const std::string& label);
// How large the whole of an array has to be, header and data, that starts with these bytes: as many of them
// as there are up to npy_header_bytes.
inline constexpr size_t npy_header_bytes = size_t(1) << 16;
size_t npy_size(std::span<const std::byte> start, const std::string& label);
// What an entry says of its size is compared with its header, and with what a file may ask for
// (libmge/base/files/file_limit.h), before it is unpacked.
std::map<std::string, Tensor> read_npz(const std::string& path);
// One by one, for archives that are larger than memory should be: the names of the arrays, and one of them
// (UserError when there is none of that name).
std::vector<std::string> npz_names(const std::string& path);
Tensor read_npz_array(const std::string& path, const std::string& name);
// The same of an archive in memory, which `label` names in errors.
std::vector<std::string> npz_names(std::span<const std::byte> archive, const std::string& label);
Tensor read_npz_array(std::span<const std::byte> archive, const std::string& label, const std::string& name);

// Writes the file whole or not at all.
void write_npz(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& arrays);

}  // namespace mge::cli
