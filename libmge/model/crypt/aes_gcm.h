// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "libmge/base/api.h"
#include "libmge/model/crypt/secret_bytes.h"

struct evp_cipher_ctx_st;

namespace mge {

inline constexpr size_t aes_key_bytes = 32, gcm_nonce_bytes = 12, gcm_tag_bytes = 16;
using GcmNonce = std::array<std::byte, gcm_nonce_bytes>;

// AES-256-GCM with 96-bit nonces and 128-bit tags (NIST SP 800-38D) for many messages under one key. Callers
// of `seal` must never reuse a nonce.
class MGE_API AesGcm {
public:
    explicit AesGcm(std::span<const std::byte> key);

    // `sealed` has space for the ciphertext followed by the tag.
    void seal(const GcmNonce& nonce, std::span<const std::byte> associated, std::span<const std::byte> plain,
              std::span<std::byte> sealed);
    // False, and `plain` wiped, when the tag does not match; only after true may anyone look at `plain`.
    [[nodiscard]] bool open(const GcmNonce& nonce, std::span<const std::byte> associated,
                            std::span<const std::byte> sealed, std::span<std::byte> plain);

private:
    struct Free {
        void operator()(evp_cipher_ctx_st* context) const;
    };
    using CipherContext = std::unique_ptr<evp_cipher_ctx_st, Free>;
    CipherContext sealing_, opening_;
};

// HKDF with SHA-256 (RFC 5869).
MGE_API SecretBytes hkdf_sha256(std::span<const std::byte> key, std::span<const std::byte> salt,
                                std::span<const std::byte> info, size_t size);

// Cryptographically strong random bytes.
MGE_API void fill_random(std::span<std::byte> memory);

}  // namespace mge
