// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions of OpenSSL that we call, in a table. Loading libcrypto takes a process 2 ms, and few have a
// secret: so libmge opens it when somebody first asks for the table. The library for deployment holds it.

#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>

namespace mge {

struct OpenSsl {
    decltype(&::EVP_CIPHER_CTX_ctrl) EVP_CIPHER_CTX_ctrl;
    decltype(&::EVP_CIPHER_CTX_free) EVP_CIPHER_CTX_free;
    decltype(&::EVP_CIPHER_CTX_new) EVP_CIPHER_CTX_new;
    decltype(&::EVP_CipherFinal_ex) EVP_CipherFinal_ex;
    decltype(&::EVP_CipherInit_ex) EVP_CipherInit_ex;
    decltype(&::EVP_CipherUpdate) EVP_CipherUpdate;
    decltype(&::EVP_DecryptFinal_ex) EVP_DecryptFinal_ex;
    decltype(&::EVP_DecryptInit_ex) EVP_DecryptInit_ex;
    decltype(&::EVP_DecryptUpdate) EVP_DecryptUpdate;
    decltype(&::EVP_EncryptFinal_ex) EVP_EncryptFinal_ex;
    decltype(&::EVP_EncryptInit_ex) EVP_EncryptInit_ex;
    decltype(&::EVP_EncryptUpdate) EVP_EncryptUpdate;
    decltype(&::EVP_KDF_CTX_free) EVP_KDF_CTX_free;
    decltype(&::EVP_KDF_CTX_new) EVP_KDF_CTX_new;
    decltype(&::EVP_KDF_derive) EVP_KDF_derive;
    decltype(&::EVP_KDF_fetch) EVP_KDF_fetch;
    decltype(&::EVP_KDF_free) EVP_KDF_free;
    decltype(&::EVP_aes_256_cbc) EVP_aes_256_cbc;
    decltype(&::EVP_aes_256_gcm) EVP_aes_256_gcm;
    decltype(&::OSSL_PARAM_construct_end) OSSL_PARAM_construct_end;
    decltype(&::OSSL_PARAM_construct_octet_string) OSSL_PARAM_construct_octet_string;
    decltype(&::OSSL_PARAM_construct_utf8_string) OSSL_PARAM_construct_utf8_string;
    decltype(&::RAND_bytes) RAND_bytes;
};

// UserError when there is no libcrypto, or one of another version.
const OpenSsl& openssl();

}  // namespace mge
