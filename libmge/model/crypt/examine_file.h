// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "libmge/model/crypt/encrypted_file.h"

namespace mge {

enum class Authenticity {
    not_checked,    // no key was given
    authentic,      // all bytes are authenticated
    not_protected,  // the format has no authentication
};
MGE_API const char* name_of(Authenticity authenticity);

struct EncryptedFileInfo {
    std::string format;            // in words
    std::string cipher;            // empty: not encrypted, or unknown
    bool is_guess = false;         // the file does not say; it looks like this cipher
    bool has_default_key = false;  // for a guessed cipher: the key is the publicly known one
    uint64_t file_bytes = 0;
    std::optional<uint64_t> content_bytes;  // from the header, or after decryption
    std::optional<EncryptedHeader> header;  // header of our own encrypted files
    Authenticity authenticity = Authenticity::not_checked;
};

// Information about a file that is available without a key. With a key (and the cipher's name for MegEngine's
// formats) everything is checked, and damage is a CryptoError. UserError if it cannot be read.
MGE_API EncryptedFileInfo examine_file(const std::string& path, const std::optional<FileCipher>& cipher = {});

}  // namespace mge
