// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/crypt/aes_gcm.h"

#include <openssl/core_names.h>

#include <climits>

#include "libmge/model/crypt/openssl.h"
#include "libmge/model/crypt/openssl_call.h"

namespace mge {
namespace {

// EVP counts in int.
constexpr size_t largest_message = INT_MAX;

}  // namespace

void AesGcm::Free::operator()(evp_cipher_ctx_st* context) const {
    openssl().EVP_CIPHER_CTX_free(context);  // wipes the round keys
}

AesGcm::AesGcm(std::span<const std::byte> key)
    : sealing_(openssl().EVP_CIPHER_CTX_new()), opening_(openssl().EVP_CIPHER_CTX_new()) {
    MGE_CHECK(key.size() == aes_key_bytes);
    check_openssl(sealing_ && opening_, "EVP_CIPHER_CTX_new");
    check_openssl(openssl().EVP_EncryptInit_ex(sealing_.get(), openssl().EVP_aes_256_gcm(), nullptr,
                                               octets(key), nullptr) == 1,
                  "EVP_EncryptInit_ex");
    check_openssl(openssl().EVP_DecryptInit_ex(opening_.get(), openssl().EVP_aes_256_gcm(), nullptr,
                                               octets(key), nullptr) == 1,
                  "EVP_DecryptInit_ex");
}

void AesGcm::seal(const GcmNonce& nonce, std::span<const std::byte> associated,
                  std::span<const std::byte> plain, std::span<std::byte> sealed) {
    MGE_CHECK(sealed.size() == plain.size() + gcm_tag_bytes && plain.size() <= largest_message);
    EVP_CIPHER_CTX* context = sealing_.get();
    int written = 0;
    check_openssl(openssl().EVP_EncryptInit_ex(context, nullptr, nullptr, nullptr, octets(nonce)) == 1,
                  "EVP_EncryptInit_ex");
    check_openssl(openssl().EVP_EncryptUpdate(context, nullptr, &written, octets(associated),
                                              int(associated.size())) == 1,
                  "EVP_EncryptUpdate");
    if (!plain.empty())
        check_openssl(openssl().EVP_EncryptUpdate(context, octets(sealed), &written, octets(plain),
                                                  int(plain.size())) == 1,
                      "EVP_EncryptUpdate");
    auto tag = sealed.subspan(plain.size());
    check_openssl(openssl().EVP_EncryptFinal_ex(context, octets(tag), &written) == 1, "EVP_EncryptFinal_ex");
    check_openssl(
        openssl().EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, int(gcm_tag_bytes), octets(tag)) == 1,
        "EVP_CTRL_AEAD_GET_TAG");
}

bool AesGcm::open(const GcmNonce& nonce, std::span<const std::byte> associated,
                  std::span<const std::byte> sealed, std::span<std::byte> plain) {
    MGE_CHECK(sealed.size() == plain.size() + gcm_tag_bytes && plain.size() <= largest_message);
    EVP_CIPHER_CTX* context = opening_.get();
    int written = 0;
    check_openssl(openssl().EVP_DecryptInit_ex(context, nullptr, nullptr, nullptr, octets(nonce)) == 1,
                  "EVP_DecryptInit_ex");
    check_openssl(openssl().EVP_DecryptUpdate(context, nullptr, &written, octets(associated),
                                              int(associated.size())) == 1,
                  "EVP_DecryptUpdate");
    if (!plain.empty())
        check_openssl(openssl().EVP_DecryptUpdate(context, octets(plain), &written, octets(sealed),
                                                  int(plain.size())) == 1,
                      "EVP_DecryptUpdate");
    auto tag = sealed.subspan(plain.size());
    check_openssl(openssl().EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, int(gcm_tag_bytes),
                                                const_cast<unsigned char*>(octets(tag))) == 1,
                  "EVP_CTRL_AEAD_SET_TAG");
    unsigned char none[gcm_tag_bytes];
    if (openssl().EVP_DecryptFinal_ex(context, none, &written) == 1) return true;
    wipe(plain);
    return false;
}

SecretBytes hkdf_sha256(std::span<const std::byte> key, std::span<const std::byte> salt,
                        std::span<const std::byte> info, size_t size) {
    struct FreeKdf {
        void operator()(EVP_KDF* kdf) const { openssl().EVP_KDF_free(kdf); }
        void operator()(EVP_KDF_CTX* context) const { openssl().EVP_KDF_CTX_free(context); }
    };
    std::unique_ptr<EVP_KDF, FreeKdf> kdf(openssl().EVP_KDF_fetch(nullptr, "HKDF", nullptr));
    check_openssl(kdf != nullptr, "EVP_KDF_fetch");
    std::unique_ptr<EVP_KDF_CTX, FreeKdf> context(openssl().EVP_KDF_CTX_new(kdf.get()));
    check_openssl(context != nullptr, "EVP_KDF_CTX_new");
    std::byte nothing{};  // OpenSSL refuses a null pointer, even of no bytes
    auto octet_string = [&](const char* name, std::span<const std::byte> bytes) {
        auto* data = bytes.empty() ? &nothing : const_cast<std::byte*>(bytes.data());
        return openssl().OSSL_PARAM_construct_octet_string(name, data, bytes.size());
    };
    char digest[] = "SHA256";
    OSSL_PARAM params[] = {openssl().OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
                           octet_string(OSSL_KDF_PARAM_KEY, key), octet_string(OSSL_KDF_PARAM_SALT, salt),
                           octet_string(OSSL_KDF_PARAM_INFO, info), openssl().OSSL_PARAM_construct_end()};
    SecretBytes derived(size);
    check_openssl(openssl().EVP_KDF_derive(context.get(), octets(derived.span()), size, params) == 1,
                  "EVP_KDF_derive");
    return derived;
}

void fill_random(std::span<std::byte> memory) {
    MGE_CHECK(memory.size() <= INT_MAX);
    check_openssl(openssl().RAND_bytes(octets(memory), int(memory.size())) == 1, "RAND_bytes");
}

}  // namespace mge
