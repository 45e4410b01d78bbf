// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "libmge/base/api.h"

namespace mge {

// Cheap mixing for in-memory tables; not stable between versions, never written to a file.
constexpr uint64_t hash_mix(uint64_t seed, uint64_t value) {
    seed ^= value + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2);
    return seed * 0xff51afd7ed558ccdull;
}

// Returns XXH3 of the bytes. Runs at memory speed and is stable: for checksums in files and keys in caches.
MGE_API uint64_t checksum(const void* data, size_t bytes);
// 128 bits of hash: equal fingerprints count as equal content.
struct Fingerprint {
    uint64_t low = 0, high = 0;
    auto operator<=>(const Fingerprint&) const = default;
};
MGE_API Fingerprint fingerprint(const void* data, size_t bytes);
inline uint64_t checksum(std::string_view text) { return checksum(text.data(), text.size()); }
// Return all 16 or 32 hexadecimal digits, the highest first.
MGE_API std::string hex_text(uint64_t value);
MGE_API std::string hex_text(const Fingerprint& print);

}  // namespace mge
