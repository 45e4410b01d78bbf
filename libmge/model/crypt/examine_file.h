// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "libmge/model/crypt/encrypted_file.h"

namespace mge {

enum class Authenticity {
    not_checked,    // no key was given
    authentic,      // every byte is what was encrypted
    not_protected,  // the format cannot tell
};
MGE_API const char* name_of(Authenticity authenticity);

struct EncryptedFileInfo {
    std::string format;            // in words
    std::string cipher;            // empty: not encrypted, or unknown
    bool is_guess = false;         // the file does not say; it looks like this cipher
    bool has_default_key = false;  // of a guessed one: the key is the one that everybody knows
    uint64_t file_bytes = 0;
    std::optional<uint64_t> content_bytes;  // as the header says, or as decrypted
    std::optional<EncryptedHeader> header;  // of our own encrypted files
    Authenticity authenticity = Authenticity::not_checked;
};

// What can be told about a file without a key; with one (and the cipher's name for MegEngine's formats)
// everything is checked, and damage is a CryptoError. UserError when it cannot be read.
MGE_API EncryptedFileInfo examine_file(const std::string& path, const std::optional<FileCipher>& cipher = {});

}  // namespace mge
