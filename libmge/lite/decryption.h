// SPDX-License-Identifier: Apache-2.0
#pragma once
// The ciphers that models may name: those of the engine (libmge/model/crypt/cipher.h), to which programs add
// their own with register_decryption_and_key().

#include "libmge/model/crypt/key.h"

namespace lite {

// Gives the engine the keys that were set for Lite: for our own encrypted files that of
// update_decryption_or_key("aes-256-gcm", …), for all others the one that their cipher has.
mge::KeyProvider model_keys();

}  // namespace lite
