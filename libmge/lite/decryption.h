// SPDX-License-Identifier: Apache-2.0
#pragma once
// The ciphers that models may name: those of the engine (libmge/model/crypt/cipher.h), to which programs add
// their own with register_decryption_and_key().

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libmge/model/crypt/key.h"
#include "lite/global.h"

namespace lite {

// Gives the engine the keys that were set for Lite: for our own encrypted files that of
// update_decryption_or_key("aes-256-gcm", …), for all others the one that their cipher has.
mge::KeyProvider model_keys();

// Replaces the function (unless empty) and the key (if given) of a cipher. Error when there is no such
// cipher, or it does not take keys of that length; an empty key has 0 bytes.
void update_decryption(const std::string& name, const DecryptionFunc& func,
                       const std::optional<std::vector<uint8_t>>& key);

}  // namespace lite
