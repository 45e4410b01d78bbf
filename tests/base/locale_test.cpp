// SPDX-License-Identifier: Apache-2.0
// Output is the same in a program whose locale has a decimal comma.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "libmge/base/error.h"
#include "libmge/base/files/file.h"
#include "libmge/base/json_writer.h"
#include "libmge/base/number_text.h"
#include "tests/base/comma_locale.h"
#include "tests/new_folder.h"

namespace mge {
namespace {

TEST(CommaLocale, IsActive) {
    CommaLocale scope;
    std::ostringstream stream;
    stream << 1234567 << ' ' << 0.5;
    EXPECT_EQ(stream.str(), "1.234.567 0,5");
}

TEST(CommaLocale, ChangesNoText) {
    CommaLocale scope;
    EXPECT_EQ(text(1234567, ' ', size_t(98765), ' ', 0.5, ' ', -1234.5f), "1234567 98765 0.5 -1234.5");
    EXPECT_EQ(text(true, 'x', "y"), "1xy");
    EXPECT_EQ(decimal_text(1234.5, 9), "1234.5");
    EXPECT_EQ(counted(1234, "run"), "1234 runs");
    EXPECT_EQ(parse_number("1234.5"), 1234.5);
    try {
        throw_user("conv2d", text("axis ", 1234));
    } catch (const UserError& e) {
        EXPECT_STREQ(e.what(), "[conv2d] axis 1234");
    }
}

TEST(CommaLocale, ChangesNoFile) {
    auto folder = new_folder("mge_comma_locale");
    std::string path = (folder / "file").string();
    CommaLocale scope;
    write_file_atomically(path, [](std::ostream& stream) {
        stream << 1234567 << ' ' << 0.5 << ' ';
        JsonWriter(stream).value(int64_t(1234567));
    });
    std::ifstream file(path);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "1234567 0.5 1234567");
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace mge
