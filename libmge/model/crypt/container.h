// SPDX-License-Identifier: Apache-2.0
#pragma once
// An encrypted file of our own: any content, cut into chunks, each sealed by AES-256-GCM under a key of this
// file alone.
//
// The file's key is HKDF-SHA256 of the user's key, a random salt and the header, so that no two files share a
// key and a header of another file does not fit. Nonces then need no randomness: they are the number of the
// chunk and whether it is the last. A chunk at another place, a missing end or a chunk of another file
// therefore fails like a flipped bit. The layout is docs/formats/encrypted.md.

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "libmge/base/api.h"
#include "libmge/model/crypt/aes_gcm.h"
#include "libmge/model/crypt/secret_bytes.h"

namespace mge {

inline constexpr std::array<char, 8> encrypted_magic{'\x89', 'M', 'G', 'X', '\r', '\n', '\x1a', '\n'};
inline constexpr uint32_t encrypted_version = 1;
inline constexpr uint32_t default_chunk_bytes = 1 << 20, smallest_chunk_bytes = 1 << 10,
                          largest_chunk_bytes = 1 << 24;
inline constexpr size_t encrypted_header_bytes = 96;

// The header as stored in the file, without its tag; little-endian, like all supported machines.
struct EncryptedHeader {
    std::array<char, 8> magic = encrypted_magic;
    uint32_t version = encrypted_version;
    uint32_t cipher = 1;  // aes-256-gcm, the only one so far
    uint32_t chunk_bytes = default_chunk_bytes;
    uint32_t header_bytes = encrypted_header_bytes;
    uint64_t plain_bytes = 0;
    std::array<std::byte, 16> key_id{};
    std::array<std::byte, 32> salt{};
};
static_assert(sizeof(EncryptedHeader) == encrypted_header_bytes - gcm_tag_bytes);

// True when the bytes start like an encrypted file of ours.
MGE_API bool is_encrypted(std::span<const std::byte> bytes);

// The header of a file of `file_bytes` bytes that starts with `start`, checked for sense but not yet
// authenticated. CryptoError names `label`, the place and the reason.
MGE_API EncryptedHeader read_encrypted_header(std::span<const std::byte> start, uint64_t file_bytes,
                                              const std::string& label);

// Seals or opens the chunks of one file, in any order. Not thread-safe.
class MGE_API EncryptedContainer {
public:
    // A new file: fresh salt, hence a fresh key.
    EncryptedContainer(std::span<const std::byte> key, uint64_t plain_bytes,
                       uint32_t chunk_bytes = default_chunk_bytes);
    // A file that exists. CryptoError when the key is another one or the header was changed.
    EncryptedContainer(std::span<const std::byte> key, std::span<const std::byte> start, uint64_t file_bytes,
                       std::string label);

    const EncryptedHeader& header() const { return header_; }
    // The header with its tag, as it starts the file.
    std::array<std::byte, encrypted_header_bytes> sealed_header();

    // An empty content has one empty chunk.
    uint64_t chunk_count() const;
    uint64_t file_bytes() const;
    // The offset of a chunk in the file and in the content, and its length.
    uint64_t sealed_offset(uint64_t chunk) const;
    uint64_t plain_offset(uint64_t chunk) const { return chunk * header_.chunk_bytes; }
    size_t plain_bytes(uint64_t chunk) const;
    size_t sealed_bytes(uint64_t chunk) const { return plain_bytes(chunk) + gcm_tag_bytes; }

    // A chunk is sealed only once: its nonce depends only on its number.
    void seal(uint64_t chunk, std::span<const std::byte> plain, std::span<std::byte> sealed);
    // CryptoError, and `plain` wiped, when the chunk is not the one that was sealed at this place.
    void open(uint64_t chunk, std::span<const std::byte> sealed, std::span<std::byte> plain);

private:
    GcmNonce nonce_of(uint64_t chunk) const;

    std::string label_;
    EncryptedHeader header_;
    AesGcm cipher_;
};

}  // namespace mge
