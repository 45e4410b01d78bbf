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
void expect(const Thrown& thrown, const char* text) {
    try {
        try {
            throw thrown;
        } catch (...) {
            rethrow_in("pad 'p'");
        }
    } catch (const Expected& e) {
        EXPECT_STREQ(e.what(), text);
    }
}

TEST(Rethrow, SaysWhereAndKeepsTheKind) {
    expect<MemoryError, MemoryError>(MemoryError("full"), "pad 'p': full");
    expect<DeviceError, DeviceError>(DeviceError("gone"), "pad 'p': gone");
    expect<UserError, UserError>(UserError("wrong"), "pad 'p': wrong");
}

TEST(Rethrow, WantOfMemoryOfTheStandardLibraryNamesThePlaceToo) {
    expect<std::bad_alloc, MemoryError>(std::bad_alloc(), "pad 'p': the system has no memory left");
}

TEST(Rethrow, WhatIsNotOursStaysAsItIs) {
    expect<std::runtime_error, std::runtime_error>(std::runtime_error("other"), "other");
}

}  // namespace
}  // namespace mge
