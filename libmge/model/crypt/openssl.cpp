// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/crypt/openssl.h"

#include <dlfcn.h>
#include <openssl/opensslv.h>

#include <string>

#include "libmge/base/error.h"

namespace mge {
namespace {

#ifdef MGE_LITE_ONLY
#define MGE_TAKE(function) table.function = &::function
#else
#define MGE_TAKE(function) take(table.function, #function)

// It stays open: what it leaves for the end of the process and of threads is code.
void* library() {
    static const std::string file = text("libcrypto.so.", OPENSSL_SHLIB_VERSION);
    static void* const handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) throw UserError(text("encrypted models need OpenSSL: ", ::dlerror()));
    return handle;
}

template <class Function>
void take(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library(), name));
    if (!function) throw UserError(text("OpenSSL ", OPENSSL_VERSION_STR, " is needed: ", ::dlerror()));
}
#endif

OpenSsl make_table() {
    OpenSsl table;
    MGE_TAKE(EVP_CIPHER_CTX_ctrl);
    MGE_TAKE(EVP_CIPHER_CTX_free);
    MGE_TAKE(EVP_CIPHER_CTX_new);
    MGE_TAKE(EVP_CipherFinal_ex);
    MGE_TAKE(EVP_CipherInit_ex);
    MGE_TAKE(EVP_CipherUpdate);
    MGE_TAKE(EVP_DecryptFinal_ex);
    MGE_TAKE(EVP_DecryptInit_ex);
    MGE_TAKE(EVP_DecryptUpdate);
    MGE_TAKE(EVP_EncryptFinal_ex);
    MGE_TAKE(EVP_EncryptInit_ex);
    MGE_TAKE(EVP_EncryptUpdate);
    MGE_TAKE(EVP_KDF_CTX_free);
    MGE_TAKE(EVP_KDF_CTX_new);
    MGE_TAKE(EVP_KDF_derive);
    MGE_TAKE(EVP_KDF_fetch);
    MGE_TAKE(EVP_KDF_free);
    MGE_TAKE(EVP_aes_256_cbc);
    MGE_TAKE(EVP_aes_256_gcm);
    MGE_TAKE(OSSL_PARAM_construct_end);
    MGE_TAKE(OSSL_PARAM_construct_octet_string);
    MGE_TAKE(OSSL_PARAM_construct_utf8_string);
    MGE_TAKE(RAND_bytes);
    return table;
}

#undef MGE_TAKE

}  // namespace

const OpenSsl& openssl() {
    static const OpenSsl table = make_table();
    return table;
}

}  // namespace mge
