// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/rethrow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "libmge/base/error.h"

namespace mge {
namespace {

template <class Thrown, class Expected>
void expect(const Thrown& thrown, const char* text,
            [[maybe_unused]] ErrorClass error_class = ErrorClass::runtime) {
    try {
        try {
            throw thrown;
        } catch (...) {
            rethrow_in("pad 'p'");
        }
    } catch (const Expected& e) {
        EXPECT_STREQ(e.what(), text);
        if constexpr (std::is_same_v<Expected, Error> && !std::is_base_of_v<Error, Thrown>) {
            EXPECT_EQ(e.error_class(), error_class);
        }
        return;
    }
    FAIL() << "nothing was thrown";
}

TEST(Rethrow, AddsContextAndKeepsTheClass) {
    expect<MemoryError, MemoryError>(MemoryError("full"), "pad 'p': full");
    expect<DeviceError, DeviceError>(DeviceError("gone"), "pad 'p': gone");
    expect<UserError, UserError>(UserError("wrong"), "pad 'p': wrong");
}

TEST(Rethrow, BadAllocNamesTheContext) {
    expect<std::bad_alloc, MemoryError>(std::bad_alloc(), "pad 'p': the system has no memory left");
}

TEST(Rethrow, ForeignExceptionsBecomeErrors) {
    struct Own : Error {
        using Error::Error;
    };
    expect<std::runtime_error, Error>(std::runtime_error("other"), "pad 'p': other");
    expect<Own, Error>(Own(ErrorCode::device, ErrorClass::key, "other"), "pad 'p': other");
    expect<int, Error>(7, "pad 'p': an exception that is not a std::exception");
    expect<std::out_of_range, Error>(std::out_of_range("far"), "pad 'p': far", ErrorClass::index);
    expect<std::invalid_argument, Error>(std::invalid_argument("bad"), "pad 'p': bad", ErrorClass::value);
}

TEST(Rethrow, ExceptionsOfOtherClassesAreUnchanged) {
    struct Marked : std::runtime_error, ThrownAsIs {
        using std::runtime_error::runtime_error;
    };
    expect<Marked, Marked>(Marked("other"), "other");
}

}  // namespace
}  // namespace mge
