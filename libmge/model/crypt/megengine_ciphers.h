// SPDX-License-Identifier: Apache-2.0
#pragma once
// The three ciphers of MegEngine Lite, byte for byte, for files that exist. None of them proves that a file
// is what somebody encrypted; what they check only catches accidents and wrong keys. Keys are checked before
// by `find_cipher`'s lengths.

#include <array>
#include <cstddef>
#include <span>

#include "libmge/model/crypt/secret_bytes.h"

namespace mge {

inline constexpr std::array<size_t, 1> megengine_aes_key_bytes{32};
// The hash's key and the cipher's, 8 bytes each; the long form has 112 unused bytes behind them.
inline constexpr std::array<size_t, 2> megengine_rc4_key_bytes{16, 128};

// AES-256-CBC: 16 bytes of IV, ciphertext with PKCS#7 padding, 8 bytes of big-endian length.
SecretBytes encrypt_megengine_aes(std::span<const std::byte> plain, std::span<const std::byte> key);
SecretBytes decrypt_megengine_aes(std::span<const std::byte> file, std::span<const std::byte> key);

// Content whose length is no multiple of 8 comes back with zeros up to the next one: the formats do not store
// the length.
SecretBytes encrypt_megengine_rc4(std::span<const std::byte> plain, std::span<const std::byte> key);
SecretBytes decrypt_megengine_rc4(std::span<const std::byte> file, std::span<const std::byte> key);
SecretBytes encrypt_megengine_simple_fast_rc4(std::span<const std::byte> plain,
                                              std::span<const std::byte> key);
SecretBytes decrypt_megengine_simple_fast_rc4(std::span<const std::byte> file,
                                              std::span<const std::byte> key);

// The keys that are built into MegEngine, known to everybody.
SecretBytes default_megengine_aes_key();
SecretBytes default_megengine_rc4_key();

}  // namespace mge
