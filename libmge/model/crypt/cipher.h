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

// The name that means our own encrypted files (container.h); the others are bare ciphers, whose files do not
// say what they are.
inline constexpr const char* container_cipher = "aes-256-gcm";

// From a whole file (or content) and a key to the content (or the file). Throws when it refuses.
using CipherFunction =
    std::function<SecretBytes(std::span<const std::byte> input, std::span<const std::byte> key)>;

struct Cipher {
    std::string name;
    CipherFunction decrypt;
    CipherFunction encrypt;                          // empty: it only decrypts
    std::vector<size_t> key_bytes;                   // the lengths of a key; empty: any
    std::shared_ptr<const SecretBytes> default_key;  // of MegEngine's formats: known to everybody
    std::string
        weakness;  // what it does not protect, as a warning says it; empty: nothing can be changed unseen
};

// Adds a cipher of the program's own. UserError when the name is taken or empty, or decrypt is missing.
MGE_API void register_cipher(Cipher cipher);

// Replaces the function (unless empty) and the default key (if given) of a registered cipher. With a new
// function it takes keys of any length and only decrypts. UserError when there is none of that name or it is
// `container_cipher`, CryptoError when the key's length is not one of the cipher's.
MGE_API void update_cipher(const std::string& name, CipherFunction decrypt,
                           std::optional<std::span<const std::byte>> key);

// UserError that lists the registered names when there is none of this name.
MGE_API std::shared_ptr<const Cipher> find_cipher(const std::string& name);
MGE_API std::vector<std::string> cipher_names();

// CryptoError when the cipher does not take keys of this length.
MGE_API void check_key(const Cipher& cipher, std::span<const std::byte> key);

}  // namespace mge
