// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/crypt/container.h"

#include <bit>
#include <cstring>

#include "libmge/model/crypt/crypto_error.h"
#include "libmge/model/crypt/hex.h"
#include "libmge/model/crypt/key.h"

namespace mge {
namespace {

static_assert(std::endian::native == std::endian::little);

// The purpose of a nonce, its fourth byte: header and last chunk have separate spaces.
enum class NonceUse : uint8_t { header = 0, chunk = 1, last_chunk = 2 };

GcmNonce make_nonce(NonceUse use, uint64_t counter) {
    GcmNonce nonce{};
    nonce[3] = std::byte(use);
    std::memcpy(nonce.data() + 4, &counter, sizeof counter);
    return nonce;
}

std::span<const std::byte> header_bytes(const EncryptedHeader& header) {
    return std::as_bytes(std::span(&header, 1));
}

std::array<std::byte, 16> id_bytes(std::span<const std::byte> key) {
    std::array<std::byte, 16> id;
    from_hex(bytes_of(key_id(key)), id);
    return id;
}

EncryptedHeader new_header(std::span<const std::byte> key, uint64_t plain_bytes, uint32_t chunk_bytes) {
    EncryptedHeader header;
    MGE_CHECK(std::has_single_bit(chunk_bytes) && chunk_bytes >= smallest_chunk_bytes &&
              chunk_bytes <= largest_chunk_bytes);
    header.chunk_bytes = chunk_bytes;
    header.plain_bytes = plain_bytes;
    header.key_id = id_bytes(key);
    fill_random(header.salt);
    return header;
}

// The info of HKDF binds the whole header: another version, cipher, chunk size or length gives another key.
SecretBytes file_key(std::span<const std::byte> key, const EncryptedHeader& header) {
    return hkdf_sha256(key, header.salt, header_bytes(header), aes_key_bytes);
}

uint64_t chunk_count_of(const EncryptedHeader& header) {
    uint64_t whole = header.plain_bytes / header.chunk_bytes;
    return whole + (header.plain_bytes % header.chunk_bytes || whole == 0);
}

// Only for a header whose plain_bytes has been bounded by the size of a real file.
uint64_t file_bytes_of(const EncryptedHeader& header) {
    return encrypted_header_bytes + header.plain_bytes + chunk_count_of(header) * gcm_tag_bytes;
}

void check_key_bytes(std::span<const std::byte> key) {
    if (key.size() != aes_key_bytes)
        throw CryptoError(
            text("a key for aes-256-gcm has ", aes_key_bytes, " bytes, but this key has ", key.size()));
}

void check_key_id(std::span<const std::byte> key, const EncryptedHeader& header, const std::string& label) {
    check_key_bytes(key);
    if (id_bytes(key) != header.key_id)
        throw CryptoError(text("'", label, "': wrong key: the file needs the key with the id ",
                               hex_of(header.key_id), ", this key has the id ", key_id(key)));
}

}  // namespace

bool is_encrypted(std::span<const std::byte> bytes) {
    return bytes.size() >= encrypted_magic.size() &&
           std::memcmp(bytes.data(), encrypted_magic.data(), encrypted_magic.size()) == 0;
}

EncryptedHeader read_encrypted_header(std::span<const std::byte> start, uint64_t file_bytes,
                                      const std::string& label) {
    auto fail = [&](const auto&... what) { throw CryptoError(text("'", label, "': ", what...)); };
    if (!is_encrypted(start)) fail("not an encrypted .mge file");
    if (start.size() < encrypted_header_bytes || file_bytes < encrypted_header_bytes)
        fail("truncated: it has ", file_bytes, " bytes, but its header alone needs ", encrypted_header_bytes);
    EncryptedHeader header;
    std::memcpy(&header, start.data(), sizeof header);
    if (header.version != encrypted_version)
        fail("version ", header.version, " of the encrypted format, this program reads ", encrypted_version);
    if (header.cipher != EncryptedHeader{}.cipher || header.header_bytes != encrypted_header_bytes)
        fail("cipher ", header.cipher, " with a header of ", header.header_bytes, " bytes is unknown");
    if (!std::has_single_bit(header.chunk_bytes) || header.chunk_bytes < smallest_chunk_bytes ||
        header.chunk_bytes > largest_chunk_bytes)
        fail("chunks of ", header.chunk_bytes, " bytes are not allowed");
    if (header.plain_bytes > file_bytes || file_bytes_of(header) != file_bytes)
        fail("it has ", file_bytes, " bytes, but its header announces ", header.plain_bytes,
             " bytes of content; was it cut off or appended to?");
    return header;
}

EncryptedContainer::EncryptedContainer(std::span<const std::byte> key, uint64_t plain_bytes,
                                       uint32_t chunk_bytes)
    : header_((check_key_bytes(key), new_header(key, plain_bytes, chunk_bytes))),
      cipher_(file_key(key, header_)) {}

EncryptedContainer::EncryptedContainer(std::span<const std::byte> key, std::span<const std::byte> start,
                                       uint64_t file_bytes, std::string label)
    : label_(std::move(label)),
      header_(read_encrypted_header(start, file_bytes, label_)),
      cipher_((check_key_id(key, header_, label_), file_key(key, header_))) {
    auto tag = start.subspan(sizeof header_, gcm_tag_bytes);
    if (!cipher_.open(make_nonce(NonceUse::header, 0), header_bytes(header_), tag, {}))
        throw CryptoError(text("'", label_, "': the header was changed (its tag does not match)"));
}

std::array<std::byte, encrypted_header_bytes> EncryptedContainer::sealed_header() {
    std::array<std::byte, encrypted_header_bytes> result;
    std::memcpy(result.data(), &header_, sizeof header_);
    cipher_.seal(make_nonce(NonceUse::header, 0), header_bytes(header_), {},
                 std::span(result).subspan(sizeof header_));
    return result;
}

uint64_t EncryptedContainer::chunk_count() const { return chunk_count_of(header_); }
uint64_t EncryptedContainer::file_bytes() const { return file_bytes_of(header_); }

uint64_t EncryptedContainer::sealed_offset(uint64_t chunk) const {
    return encrypted_header_bytes + chunk * (header_.chunk_bytes + gcm_tag_bytes);
}

size_t EncryptedContainer::plain_bytes(uint64_t chunk) const {
    MGE_CHECK(chunk < chunk_count());
    return chunk + 1 < chunk_count() ? header_.chunk_bytes
                                     : size_t(header_.plain_bytes - plain_offset(chunk));
}

GcmNonce EncryptedContainer::nonce_of(uint64_t chunk) const {
    return make_nonce(chunk + 1 == chunk_count() ? NonceUse::last_chunk : NonceUse::chunk, chunk);
}

void EncryptedContainer::seal(uint64_t chunk, std::span<const std::byte> plain, std::span<std::byte> sealed) {
    MGE_CHECK(plain.size() == plain_bytes(chunk));
    cipher_.seal(nonce_of(chunk), {}, plain, sealed);
}

void EncryptedContainer::open(uint64_t chunk, std::span<const std::byte> sealed, std::span<std::byte> plain) {
    MGE_CHECK(plain.size() == plain_bytes(chunk));
    if (!cipher_.open(nonce_of(chunk), {}, sealed, plain))
        throw CryptoError(text("'", label_, "': chunk ", chunk, " of ", chunk_count(), " (from byte ",
                               sealed_offset(chunk), ") was changed, moved or comes from another file"));
}

}  // namespace mge
