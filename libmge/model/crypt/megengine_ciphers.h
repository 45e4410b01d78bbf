// SPDX-License-Identifier: Apache-2.0
#pragma once
// The three ciphers of MegEngine Lite, byte for byte, for existing files. None of them authenticates a file;
// their checks only detect accidents and wrong keys. `find_cipher`'s lengths are checked before.

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

// Content whose length is not a multiple of 8 is padded with zeros: the formats do not store the length.
SecretBytes encrypt_megengine_rc4(std::span<const std::byte> plain, std::span<const std::byte> key);
SecretBytes decrypt_megengine_rc4(std::span<const std::byte> file, std::span<const std::byte> key);
SecretBytes encrypt_megengine_simple_fast_rc4(std::span<const std::byte> plain,
                                              std::span<const std::byte> key);
SecretBytes decrypt_megengine_simple_fast_rc4(std::span<const std::byte> file,
                                              std::span<const std::byte> key);

// The publicly known keys that are built into MegEngine.
SecretBytes default_megengine_aes_key();
SecretBytes default_megengine_rc4_key();

}  // namespace mge
