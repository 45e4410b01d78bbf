// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/text.h"

#include <gtest/gtest.h>

#include <iomanip>
#include <stdexcept>
#include <thread>

namespace mge {
namespace {

struct Nested {
    int depth;
};
std::ostream& operator<<(std::ostream& stream, Nested value) {
    return value.depth ? stream << text('(', Nested{value.depth - 1}, ')') : stream << "core";
}

struct Hexadecimal {
    int value;
};
std::ostream& operator<<(std::ostream& stream, Hexadecimal value) {
    return stream << std::hex << std::showbase << std::setfill('_') << std::setprecision(2) << std::setw(6)
                  << value.value << std::setw(9);
}

struct Refusing {};
std::ostream& operator<<(std::ostream& stream, Refusing) {
    stream << "half a text" << std::hex;
    throw std::runtime_error("refused");
}

struct Failed {};
std::ostream& operator<<(std::ostream& stream, Failed) {
    stream.setstate(std::ios_base::failbit);
    return stream;
}

TEST(Text, JoinsItsParts) {
    EXPECT_EQ(text("axis ", 7, " of ", 1.5, ' ', true), "axis 7 of 1.5 1");
    EXPECT_EQ(text(), "");
}

TEST(Text, NestedTextsAreIndependent) {
    std::string expected = "core";
    for (int depth = 0; depth < 20; ++depth) {
        EXPECT_EQ(text(Nested{depth}), expected);
        expected = '(' + expected + ')';
    }
}

TEST(Text, ResetsFormats) {
    EXPECT_EQ(text(Hexadecimal{255}), "__0xff");
    EXPECT_EQ(text(255, ' ', 1.23456), "255 1.23456");
}

TEST(Text, IsEmptyAfterAnError) {
    EXPECT_THROW(text(Refusing{}), std::runtime_error);
    EXPECT_EQ(text(255), "255");
    EXPECT_EQ(text(Failed{}, "lost"), "");
    EXPECT_EQ(text("kept"), "kept");
}

TEST(Text, IsLongAndThenShort) {
    std::string large(100000, 'x');
    EXPECT_EQ(text(large, 1), large + "1");
    EXPECT_EQ(text(2), "2");
}

// A destructor of the thread's own may write a text after the cached streams are destroyed.
TEST(Text, IsWrittenWhileAThreadEnds) {
    static std::string last;
    struct Late {
        ~Late() { last = text("thread ", 1); }
    };
    std::thread([] {
        thread_local Late late;
        static_cast<void>(&late);
        EXPECT_EQ(text("before"), "before");
    }).join();
    EXPECT_EQ(last, "thread 1");
}

}  // namespace
}  // namespace mge
