// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions of OpenSSL in use, in a table. Loading libcrypto takes 2 ms, and few processes have a secret:
// so libmge opens it on first use of the table. The library for deployment links it.

#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>

namespace mge {

#define MGE_OPENSSL_FUNCTIONS(each)                                                                       \
    each(EVP_CIPHER_CTX_ctrl) each(EVP_CIPHER_CTX_free) each(EVP_CIPHER_CTX_new) each(EVP_CipherFinal_ex) \
        each(EVP_CipherInit_ex) each(EVP_CipherUpdate) each(EVP_DecryptFinal_ex) each(EVP_DecryptInit_ex) \
            each(EVP_DecryptUpdate) each(EVP_EncryptFinal_ex) each(EVP_EncryptInit_ex)                    \
                each(EVP_EncryptUpdate) each(EVP_KDF_CTX_free) each(EVP_KDF_CTX_new) each(EVP_KDF_derive) \
                    each(EVP_KDF_fetch) each(EVP_KDF_free) each(EVP_aes_256_cbc) each(EVP_aes_256_gcm)    \
                        each(OSSL_PARAM_construct_end) each(OSSL_PARAM_construct_octet_string)            \
                            each(OSSL_PARAM_construct_utf8_string) each(RAND_bytes)

struct OpenSsl {
#define MGE_POINTER(function) decltype(&::function) function;
    MGE_OPENSSL_FUNCTIONS(MGE_POINTER)
#undef MGE_POINTER
};

// UserError if libcrypto is missing or has another version.
const OpenSsl& openssl();

}  // namespace mge
