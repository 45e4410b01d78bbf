// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/unique_names.h"

#include <gtest/gtest.h>

namespace mge {
namespace {

TEST(UniqueNames, EqualNamesGetNumbers) {
    UniqueNames names;
    EXPECT_EQ(names.unique("x"), "x");
    EXPECT_EQ(names.unique("x"), "x[1]");
    EXPECT_EQ(names.unique("x"), "x[2]");
    EXPECT_EQ(names.unique("x[1]"), "x[1][1]");
    EXPECT_FALSE(names.take("x[2]"));
}

TEST(UniqueNames, NumbersOfOtherNamesAreSkipped) {
    UniqueNames names;
    EXPECT_TRUE(names.take("x[1]"));
    EXPECT_TRUE(names.take("y[0]"));
    EXPECT_EQ(names.unique("x"), "x");
    EXPECT_EQ(names.unique("x"), "x[2]");
    EXPECT_EQ(names.numbered("y", 0), "y[1]");
    EXPECT_EQ(names.numbered("y", 0), "y[2]");
}

}  // namespace
}  // namespace mge
