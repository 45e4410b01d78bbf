// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/hash.h"

#ifdef __x86_64__
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

namespace mge {
namespace {

// The fastest kernel is chosen at run time where there are several.
#ifdef __x86_64__
constexpr auto hash_64 = XXH3_64bits_dispatch;
constexpr auto hash_128 = XXH3_128bits_dispatch;
#else
constexpr auto hash_64 = XXH3_64bits;
constexpr auto hash_128 = XXH3_128bits;
#endif

}  // namespace

uint64_t checksum(const void* data, size_t bytes) { return hash_64(data, bytes); }

Fingerprint fingerprint(const void* data, size_t bytes) {
    XXH128_hash_t hash = hash_128(data, bytes);
    return {hash.low64, hash.high64};
}

std::string hex_text(uint64_t value) {
    std::string digits(16, '0');
    for (size_t i = digits.size(); i-- > 0; value >>= 4) digits[i] = "0123456789abcdef"[value & 15];
    return digits;
}

std::string hex_text(const Fingerprint& print) { return hex_text(print.high) + hex_text(print.low); }

}  // namespace mge
