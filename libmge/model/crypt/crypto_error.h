// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "libmge/base/error.h"

namespace mge {

// A wrong key, or an encrypted file that was changed, cut or put together from others.
class MGE_API CryptoError : public UserError {
public:
    explicit CryptoError(const std::string& message) : UserError(ErrorCode::crypto, message) {}
};

}  // namespace mge
