// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

namespace mge {

// The checksum of a tensor's bytes in a file: XXH3, and above one chunk the XXH3 of the chunks' XXH3s
// (little-endian, in order), so that all threads can work on one large tensor.
inline constexpr size_t checksum_chunk = size_t(256) << 10;
uint64_t tensor_checksum(const void* data, size_t bytes);

}  // namespace mge
