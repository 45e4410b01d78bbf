// SPDX-License-Identifier: Apache-2.0
#pragma once
// Encryption and decryption of whole files of any content: models, caches, test data.
//
// Formats without protection against changes are not trusted: without a cipher's name only our own encrypted
// files are opened, so an attacker cannot replace them by a file of a weaker format, or a plain one.

#include <string>

#include "libmge/model/crypt/cipher.h"
#include "libmge/model/crypt/container.h"
#include "libmge/model/crypt/key.h"

namespace mge {

// The cipher of a file, and its key provider. Without a provider, the default key of MegEngine's formats is
// used; other formats have none (CryptoError).
struct FileCipher {
    std::string name = container_cipher;
    KeyProvider key;
};

// Called while a file is worked on, with the bytes done so far of all.
using CryptProgress = std::function<void(uint64_t done, uint64_t total)>;

// Returns the decrypted content, in memory that is wiped. CryptoError if the file was changed (as far as the
// cipher can detect it), the key is wrong, or the file has another cipher. UserError if it cannot be read.
MGE_API SecretBytes decrypt_to_memory(const std::string& path, const FileCipher& cipher);
// The same for a file in memory, which `label` names in errors.
MGE_API SecretBytes decrypt_to_memory(std::span<const std::byte> file, const std::string& label,
                                      const FileCipher& cipher);

// True when the file starts like an encrypted one of ours. UserError when it cannot be read.
MGE_API bool is_encrypted_file(const std::string& path);

// The encrypted form of content in memory; `label` names it for the key provider. UserError when the cipher
// only decrypts.
MGE_API SecretBytes encrypt_in_memory(std::span<const std::byte> content, const std::string& label,
                                      const FileCipher& cipher);

// From file to file. OUT appears completely or not at all, and may be IN. Decrypting reads the file twice:
// first every tag is checked, then it is written, so that nothing of a damaged file reaches the disk; only
// the owner may read the output. Rekeying keeps at most a chunk of plain content (in MegEngine's formats all
// of it) in memory and writes none. Throws like decrypt_to_memory.
MGE_API void encrypt_file(const std::string& in, const std::string& out, const FileCipher& cipher,
                          const CryptProgress& progress = {});
MGE_API void decrypt_file(const std::string& in, const std::string& out, const FileCipher& cipher,
                          const CryptProgress& progress = {});
MGE_API void rekey_file(const std::string& in, const std::string& out, const FileCipher& from,
                        const FileCipher& to, const CryptProgress& progress = {});

}  // namespace mge
