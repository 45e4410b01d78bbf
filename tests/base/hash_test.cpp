// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/hash.h"

#include <gtest/gtest.h>

namespace mge {
namespace {

TEST(HexText, HasAllDigits) {
    EXPECT_EQ(hex_text(uint64_t(0)), "0000000000000000");
    EXPECT_EQ(hex_text(~uint64_t(0)), "ffffffffffffffff");
    EXPECT_EQ(hex_text(0x123456789abcdefull), "0123456789abcdef");
    EXPECT_EQ(hex_text(Fingerprint{.low = 0x1f, .high = 0xa0}), "00000000000000a0000000000000001f");
}

}  // namespace
}  // namespace mge
