// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "lite/error.h"

namespace lite::test {

// The message of the lite::Error that fn throws, "" when it throws nothing; any other exception passes
// through.
template <class Fn>
std::string error_of(const Fn& fn) {
    try {
        fn();
        return "";
    } catch (const Error& e) {
        return e.what();
    }
}

}  // namespace lite::test
