// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/number_text.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <vector>

namespace mge {
namespace {

std::string printed(const char* form, int digits, double value) {
    char buffer[400];
    std::snprintf(buffer, sizeof buffer, form, digits, value);
    return buffer;
}

std::vector<double> samples() {
    using Limits = std::numeric_limits<double>;
    std::vector<double> values{0.0,
                               -0.0,
                               1.0,
                               -1.5,
                               1e22,
                               1e-5,
                               0.0001,
                               123456789.5,
                               0.1,
                               Limits::max(),
                               Limits::min(),
                               Limits::epsilon(),
                               -1e300,
                               Limits::infinity(),
                               -Limits::infinity()};
    std::mt19937_64 random(7);
    while (values.size() < 2000)
        if (auto value = std::bit_cast<double>(random()); std::isfinite(value)) values.push_back(value);
    return values;
}

// The tests run in the C locale, where printf() writes a point.
TEST(NumberText, MatchesPrintf) {
    for (double value : samples()) {
        for (int digits : {3, 4, 9, 17})
            EXPECT_EQ(decimal_text(value, digits), printed("%.*g", digits, value));
        if (std::isnormal(value) || value == 0) {
            char buffer[64];
            std::snprintf(buffer, sizeof buffer, "%a", value);
            EXPECT_EQ(hexadecimal_text(value), buffer);
        }
    }
}

TEST(NumberText, CountsOneAndMany) {
    EXPECT_EQ(counted(1, "run"), "1 run");
    EXPECT_EQ(counted(0, "run"), "0 runs");
    EXPECT_EQ(counted(-1, "row"), "-1 rows");
    EXPECT_EQ(counted(3, "axis", "axes"), "3 axes");
    EXPECT_EQ(counted(1, "axis", "axes"), "1 axis");
}

TEST(NumberText, IsReadBack) {
    auto values = samples();
    values.push_back(std::numeric_limits<double>::denorm_min());
    for (double value : values) {
        EXPECT_EQ(parse_number(hexadecimal_text(value)), value);
        EXPECT_EQ(parse_number(decimal_text(value, 17)), value);
        EXPECT_EQ(std::signbit(parse_number(hexadecimal_text(value)).value()), std::signbit(value));
    }
    EXPECT_TRUE(std::isnan(parse_number(hexadecimal_text(NAN)).value()));
    EXPECT_EQ(parse_number("0X1.8P+1"), 3.0);
}

TEST(NumberText, OtherTextIsRejected) {
    for (const char* word :
         {"", "-", "--1", "0x", "-0x", "0x-1", "1,5", "0x1,8p+0", "1.5 ", " 1", "+1", "1e", "x", "1e999"})
        EXPECT_FALSE(parse_number(word)) << word;
}

}  // namespace
}  // namespace mge
