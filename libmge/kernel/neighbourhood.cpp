// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/neighbourhood.h"

#include <algorithm>
#include <bit>

#include "libmge/base/text.h"

namespace mge {
namespace {

constexpr int64_t least_bytes = int64_t(16) << 10;  // half of the smallest first-level cache
constexpr int64_t large_bytes = int64_t(4) << 20;   // more than most caches that one core has to itself

}  // namespace

Neighbourhood Neighbourhood::of_bytes(int64_t bytes) {
    if (bytes > large_bytes / 2) return {};
    return {int64_t(std::bit_ceil(uint64_t(std::max(bytes, least_bytes))))};
}

std::string Neighbourhood::key() const { return is_large() ? "" : text(" beside=", bytes >> 10, 'K'); }

}  // namespace mge
