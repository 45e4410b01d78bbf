// SPDX-License-Identifier: Apache-2.0
#pragma once
// Ciphers by name. The built-in ones are a list in cipher.cpp; programs may add their own.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libmge/base/api.h"
#include "libmge/model/crypt/secret_bytes.h"

namespace mge {

// The name of our own encrypted files (container.h); the others are bare ciphers, whose files have no header.
inline constexpr const char* container_cipher = "aes-256-gcm";

// Maps a whole file (or content) and a key to the content (or the file). Throws on failure.
using CipherFunction =
    std::function<SecretBytes(std::span<const std::byte> input, std::span<const std::byte> key)>;

struct Cipher {
    std::string name;
    CipherFunction decrypt;
    CipherFunction encrypt;                          // empty: it only decrypts
    std::vector<size_t> key_bytes;                   // the lengths of a key; empty: any
    std::shared_ptr<const SecretBytes> default_key;  // from MegEngine's formats: publicly known
    std::string
        weakness;  // the part that it does not protect, for a warning; empty: every change is detected
};

// Adds a cipher of the program's own. UserError when the name is taken or empty, or decrypt is missing.
MGE_API void register_cipher(Cipher cipher);

// Replaces the function (unless empty) and the default key (if given) of a registered cipher. With a new
// function it accepts keys of any length and only decrypts. UserError for an unknown name or
// `container_cipher`, CryptoError if the key's length is wrong for the cipher.
MGE_API void update_cipher(const std::string& name, CipherFunction decrypt,
                           std::optional<std::span<const std::byte>> key);

// UserError that lists the registered names for an unknown name.
MGE_API std::shared_ptr<const Cipher> find_cipher(const std::string& name);
MGE_API std::vector<std::string> cipher_names();

// CryptoError when the cipher does not take keys of this length.
MGE_API void check_key(const Cipher& cipher, std::span<const std::byte> key);

}  // namespace mge
