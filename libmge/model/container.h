// SPDX-License-Identifier: Apache-2.0
#pragma once
// The outside of a .mge file: this header, the flatbuffers graph, the data section with the tensors.

#include <array>
#include <cstddef>
#include <cstdint>

#include "libmge/base/numbers/ceil_div.h"

namespace mge {

inline constexpr std::array<char, 8> model_magic{'\x89', 'M', 'G', 'E', '\r', '\n', '\x1a', '\n'};
// Other major versions cannot be read; a larger minor version can, because it only adds parts that may be
// ignored.
inline constexpr uint32_t model_major = 1, model_minor = 6;
inline constexpr size_t model_alignment = 64;

struct ModelHeader {
    std::array<char, 8> magic = model_magic;
    uint32_t major = model_major;
    uint32_t minor = model_minor;
    uint64_t file_bytes = 0;
    uint64_t graph_offset = 0;
    uint64_t graph_bytes = 0;
    uint64_t graph_checksum = 0;
    uint64_t data_offset = 0;
    uint64_t header_checksum = 0;  // checksum of the bytes before it
};
static_assert(sizeof(ModelHeader) == 64);

constexpr size_t align_model_offset(size_t offset) { return round_up(offset, model_alignment); }

}  // namespace mge
