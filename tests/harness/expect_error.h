// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "libmge/base/error.h"

namespace mge::test {

// The message of an exception of this class that fn() throws.
template <class Failure = UserError, class Fn>
std::string error_of(Fn&& fn) {
    try {
        fn();
    } catch (const Failure& e) {
        return e.what();
    }
    return "no error";
}

// fn() has to throw a UserError of this class with exactly this message.
template <class Fn>
void expect_user_error(ErrorClass error_class, const std::string& message, Fn&& fn) {
    try {
        fn();
        ADD_FAILURE() << "no error; expected: " << message;
    } catch (const UserError& e) {
        EXPECT_EQ(e.what(), message);
        EXPECT_EQ(e.error_class(), error_class) << message;
    }
}

}  // namespace mge::test
