// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/reflect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mge {

enum class Color { red, green };
template <>
struct EnumNames<Color> {
    static constexpr std::string_view names[] = {"red", "green"};
};

namespace {

using testing::HasSubstr;

struct Sample {
    bool flag = false;
    int count = 3;
    double scale = 0.1;
    std::string label = "a";
    IntList list{1, 2};
    std::array<int64_t, 2> pair{4, 5};
    Color color = Color::green;
    bool operator==(const Sample&) const = default;
};
constexpr auto fields = erase_fields(field_list(
    field<&Sample::flag>("flag", ""), field<&Sample::count>("count", ""), field<&Sample::scale>("scale", ""),
    field<&Sample::label>("label", ""), field<&Sample::list>("list", ""), field<&Sample::pair>("pair", ""),
    field<&Sample::color>("color", "")));

std::string message_of(const ParamMap& map) {
    Sample sample;
    try {
        load_params("op", fields, &sample, map);
    } catch (const UserError& e) {
        return e.what();
    }
    return "no error";
}

TEST(Reflect, EveryKindComesBack) {
    Sample before{true, -7, 2.5, "b c", {}, {9, 8}, Color::red}, after;
    load_params("op", fields, &after, save_params(fields, &before));
    EXPECT_EQ(before, after);
}

TEST(Reflect, AbsentFieldsKeepTheirValues) {
    Sample sample;
    load_params("op", fields, &sample, {{"count", int64_t(9)}});
    EXPECT_EQ(sample.count, 9);
    EXPECT_EQ(sample.label, "a");
}

TEST(Reflect, TextIsStable) {
    Sample sample;
    EXPECT_EQ(params_text(fields, &sample),
              "flag=False, count=3, scale=0.1, label='a', list=(1, 2), pair=(4, 5), color='green'");
}

TEST(Reflect, ErrorsNameTheParameter) {
    EXPECT_EQ(message_of({{"nonsense", true}}), "[op] there is no parameter 'nonsense'");
    EXPECT_THAT(message_of({{"count", std::string("x")}}),
                HasSubstr("'count': expected an integer in range, got 'x'"));
    EXPECT_THAT(message_of({{"count", int64_t(1) << 40}}),
                HasSubstr("'count': expected an integer in range"));
    EXPECT_THAT(message_of({{"flag", 1.5}}), HasSubstr("expected a bool, got 1.5"));
    EXPECT_THAT(message_of({{"scale", true}}), HasSubstr("expected a number"));
    EXPECT_THAT(message_of({{"label", true}}), HasSubstr("expected a string"));
    EXPECT_THAT(message_of({{"list", true}}), HasSubstr("expected a list of integers"));
    EXPECT_THAT(message_of({{"pair", IntList{1}}}), HasSubstr("expected a list of 2 integers, got (1)"));
    EXPECT_THAT(message_of({{"color", std::string("blue")}}),
                HasSubstr("expected one of 'red', 'green', got 'blue'"));
}

TEST(Reflect, HashFollowsTheValue) {
    Sample a, b;
    b.list = {2, 1};
    for (auto& f : fields) EXPECT_EQ(f.hash(&a) == f.hash(&b), f.name != "list") << f.name;
}

}  // namespace
}  // namespace mge
