// SPDX-License-Identifier: Apache-2.0
#pragma once
// Common part of the calls of OpenSSL. All standard algorithms (AES, HKDF, random numbers) are OpenSSL's;
// only MegEngine's own stream cipher is implemented here.

#include <cstddef>
#include <cstdint>
#include <span>

#include "libmge/base/error.h"

namespace mge {

// A call that fails for no reason the data could give, e.g. a crippled installation of OpenSSL.
inline void check_openssl(bool succeeded, const char* call) {
    if (!succeeded)
        throw InternalError(text("OpenSSL's ", call, " failed; is the installation of libcrypto complete?"));
}

inline const unsigned char* octets(std::span<const std::byte> bytes) {
    return reinterpret_cast<const unsigned char*>(bytes.data());
}
inline unsigned char* octets(std::span<std::byte> bytes) {
    return reinterpret_cast<unsigned char*>(bytes.data());
}

}  // namespace mge
