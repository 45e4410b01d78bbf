// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keys: files of raw bytes or hexadecimal digits, and key ids, which name a key without revealing it.

#include <functional>
#include <span>
#include <string>

#include "libmge/model/crypt/secret_bytes.h"

namespace mge {

// Information about a requested key.
struct KeyRequest {
    std::string file;    // the file to open, for errors
    std::string cipher;  // e.g. "aes-256-gcm"
    std::string key_id;  // hexadecimal; empty if the file does not record it
};

// Returns the key for a file, e.g. from a key service. An empty one selects the cipher's default key, which
// MegEngine's formats have. It may throw; a CryptoError is passed on unchanged.
using KeyProvider = std::function<SecretBytes(const KeyRequest&)>;

// Answers every request with this key.
MGE_API KeyProvider provide_key(SecretBytes key);

// 32 random bytes.
MGE_API SecretBytes generate_key();

// A key from a file, a variable or a terminal, for a cipher with keys of `lengths` bytes (empty: any):
// hexadecimal digits, with surrounding white space, if they give one of these lengths, otherwise the bytes
// themselves. CryptoError that names `where` and the lengths, never the content.
MGE_API SecretBytes parse_key(std::span<const std::byte> content, std::span<const size_t> lengths,
                              const std::string& where);
// Lower-case hexadecimal digits and a line end.
MGE_API SecretBytes format_key(std::span<const std::byte> key);

// 32 hexadecimal digits that identify a key; they are derived by HKDF and reveal nothing about a random key.
MGE_API std::string key_id(std::span<const std::byte> key);

}  // namespace mge
