// SPDX-License-Identifier: Apache-2.0
#pragma once
// The ciphers that models may name: those of the engine (libmge/model/crypt/cipher.h), and those that
// programs add with register_decryption_and_key().

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "libmge/model/crypt/key.h"
#include "lite/global.h"

namespace lite {

// Provides the engine with Lite's keys: for our own encrypted files the key of
// update_decryption_or_key("aes-256-gcm", …), for others the key of their cipher.
mge::KeyProvider model_keys();

// Replaces the function (unless empty) and the key (if given) of a cipher. Error if there is no such cipher,
// or the length of the key is wrong; an empty key has 0 bytes.
void update_decryption(const std::string& name, const DecryptionFunc& func,
                       const std::optional<std::vector<uint8_t>>& key);

}  // namespace lite
