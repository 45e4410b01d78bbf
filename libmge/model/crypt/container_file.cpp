// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/crypt/container_file.h"

#include <algorithm>

#include "libmge/model/crypt/crypto_error.h"
#include "libmge/model/crypt/hex.h"

namespace mge {
namespace {

EncryptedContainer open_container_file(const InputFile& file, const KeyProvider& provider) {
    FileStart buffer;
    auto start = read_start(file, buffer);
    check_kind(start, file.path(), container_cipher);
    auto header = read_encrypted_header(start, file.bytes(), file.path());
    SecretBytes key = key_for(*find_cipher(container_cipher), provider, key_request(header, file.path()));
    return {key, start, file.bytes(), file.path()};
}

}  // namespace

std::span<const std::byte> read_start(const InputFile& file, FileStart& start) {
    auto part = std::span(start).first(std::min<size_t>(start.size(), file.bytes()));
    file.read(0, part);
    return part;
}

SecretBytes key_for(const Cipher& cipher, const KeyProvider& provider, const KeyRequest& request) {
    SecretBytes key;
    if (provider) key = provider(request);
    if (key.empty() && cipher.default_key) return cipher.default_key->copy();
    if (key.empty()) throw CryptoError(text("'", request.file, "' needs a key for ", cipher.name));
    check_key(cipher, key);
    return key;
}

void check_kind(std::span<const std::byte> start, const std::string& label, const std::string& cipher) {
    bool ours = is_encrypted(start);
    if (ours && cipher != container_cipher)
        throw CryptoError(text("'", label, "' is encrypted with ", container_cipher, ", not with ", cipher));
    if (!ours && cipher == container_cipher)
        throw CryptoError(text("'", label, "' is not encrypted with ", container_cipher,
                               "; a file in one of MegEngine's formats needs the name of its cipher"));
}

KeyRequest key_request(const EncryptedHeader& header, const std::string& label) {
    return {label, container_cipher, hex_of(header.key_id)};
}

ContainerFile::ContainerFile(const InputFile& file, const KeyProvider& key)
    : file_(file),
      container_(open_container_file(file, key)),
      sealed_(largest_chunk() + gcm_tag_bytes),
      plain_(largest_chunk()) {}

void ContainerFile::read(uint64_t chunk, std::span<std::byte> plain) {
    auto sealed = sealed_.span().first(container_.sealed_bytes(chunk));
    file_.read(container_.sealed_offset(chunk), sealed);
    container_.open(chunk, sealed, plain);
}

std::span<const std::byte> ContainerFile::read(uint64_t chunk) {
    auto plain = plain_.span().first(container_.plain_bytes(chunk));
    read(chunk, plain);
    return plain;
}

void ContainerFile::check_all(const std::function<void(uint64_t)>& after_chunk) {
    for (uint64_t chunk = 0; chunk < container_.chunk_count(); ++chunk) {
        read(chunk);
        if (after_chunk) after_chunk(chunk);
    }
}

size_t ContainerFile::largest_chunk() const {
    return std::min<uint64_t>(container_.header().chunk_bytes, container_.header().plain_bytes);
}

}  // namespace mge
