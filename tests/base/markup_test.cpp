// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/markup.h"

#include <gtest/gtest.h>

#include <string>

namespace mge {
namespace {

TEST(Markup, KeepsOrdinaryText) {
    EXPECT_EQ(as_markup(""), "");
    EXPECT_EQ(as_markup("layer1.conv 'ü' 漢 \xF0\x9F\x98\x80"), "layer1.conv 'ü' 漢 \xF0\x9F\x98\x80");
}

TEST(Markup, NamesStayText) {
    EXPECT_EQ(as_markup("</script><a b=\"c\">&amp;"), "&lt;/script&gt;&lt;a b=&quot;c&quot;&gt;&amp;amp;");
}

TEST(Markup, HasNoControlCharacters) {
    EXPECT_EQ(as_markup("a\tb\nc\rd"), "a b c d");
    const std::string mark = "\xEF\xBF\xBD";
    for (int c = 0; c < 256; ++c) {
        std::string text = as_markup(std::string("<") + char(c) + ">");
        bool is_plain = c >= 0x20 && c < 0x7F;
        if (is_plain || c == '\t' || c == '\n' || c == '\r') continue;
        EXPECT_EQ(text, "&lt;" + mark + "&gt;") << c;
    }
    EXPECT_EQ(as_markup("\x1b[31m"), mark + "[31m");
    EXPECT_EQ(as_markup("\xC2\x85|\xC2\x9F|\xC2\xA0"), mark + "|" + mark + "|\xC2\xA0");
    EXPECT_EQ(as_markup("\xEF\xBF\xBE\xEF\xBF\xBF\xEF\xBF\xBD"), mark + mark + mark);
    EXPECT_EQ(as_markup("\xED\xA0\x80"), mark + mark + mark) << "half of a pair of surrogates";
}

}  // namespace
}  // namespace mge
