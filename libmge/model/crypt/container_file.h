// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <functional>
#include <span>
#include <string>

#include "libmge/model/crypt/cipher.h"
#include "libmge/model/crypt/container.h"
#include "libmge/model/crypt/encrypted_file.h"
#include "libmge/model/crypt/input_file.h"
#include "libmge/model/crypt/key.h"

namespace mge {

// The first bytes of a file, enough to detect its format.
using FileStart = std::array<std::byte, encrypted_header_bytes>;

std::span<const std::byte> read_start(const InputFile& file, FileStart& start);

// CryptoError if the file is plain or has another format than the caller expects.
void check_kind(std::span<const std::byte> start, const std::string& label, const std::string& cipher);

KeyRequest key_request(const EncryptedHeader& header, const std::string& label);
// From the provider, otherwise the cipher's default key; the length is checked.
SecretBytes key_for(const Cipher& cipher, const KeyProvider& provider, const KeyRequest& request);

// A container in a file, read chunk by chunk into private memory before the tag is checked, so that a
// concurrent change of the file is detected.
class ContainerFile {
public:
    ContainerFile(const InputFile& file, const KeyProvider& key);

    EncryptedContainer& container() { return container_; }
    // Into `plain`, which is as long as the chunk.
    void read(uint64_t chunk, std::span<std::byte> plain);
    // Into memory of this object, until the next call.
    std::span<const std::byte> read(uint64_t chunk);
    void check_all(const std::function<void(uint64_t chunk)>& after_chunk = {});

private:
    size_t largest_chunk() const;

    const InputFile& file_;
    EncryptedContainer container_;
    SecretBytes sealed_, plain_;
};

}  // namespace mge
