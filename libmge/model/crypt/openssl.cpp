// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/crypt/openssl.h"

#include <dlfcn.h>
#include <openssl/opensslv.h>

#include <string>

#include "libmge/base/error.h"

namespace mge {
namespace {

#ifdef MGE_LITE_ONLY
OpenSsl make_table() {
#define MGE_TAKE(function) &::function,
    return {MGE_OPENSSL_FUNCTIONS(MGE_TAKE)};
#undef MGE_TAKE
}
#else
// It stays open, because it registers code for the end of the process and of threads.
void* open_library() {
    const std::string file = text("libcrypto.so.", OPENSSL_SHLIB_VERSION);
    void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) throw UserError(text("encrypted models need OpenSSL: ", ::dlerror()));
    return handle;
}

template <class Function>
void take(void* library, Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    if (!function) throw UserError(text("OpenSSL ", OPENSSL_VERSION_STR, " is needed: ", ::dlerror()));
}

OpenSsl make_table() {
    void* const library = open_library();
    OpenSsl table;
#define MGE_TAKE(function) take(library, table.function, #function);
    MGE_OPENSSL_FUNCTIONS(MGE_TAKE)
#undef MGE_TAKE
    return table;
}
#endif

}  // namespace

const OpenSsl& openssl() {
    static const OpenSsl table = make_table();
    return table;
}

}  // namespace mge
