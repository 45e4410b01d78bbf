// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/inputs/input_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "apps/cli/options/named_values.h"
#include "apps/cli/output/fit_numbers.h"

namespace mge::load_and_run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Shape shape_of(const std::string& literal) { return parse_literal(literal).shape(); }

template <class Fn>
std::string message_of(Fn fn) {
    try {
        fn();
    } catch (const UserError& e) {
        return e.what();
    }
    return "no error";
}

std::vector<std::pair<std::string, std::string>> split(const std::string& list,
                                                       const std::vector<std::string>& names = {}) {
    return cli::split_named_values(list, names);
}

TEST(InputText, SplitsAtSemicolonsAndTheFirstColon) {
    EXPECT_THAT(split("a:1;b:c:2;3"), ElementsAre(Pair("a", "1"), Pair("b", "c:2"), Pair("", "3")));
    EXPECT_THAT(split(" a : x y.npy ; 3 "), ElementsAre(Pair("a", "x y.npy"), Pair("", "3")));
    EXPECT_THAT(split("a:1;"), ElementsAre(Pair("a", "1")));
}

TEST(InputText, NamesOfTheModelMayHaveColonsAndSemicolons) {
    EXPECT_THAT(split("input:0:x.npy", {"input:0"}), ElementsAre(Pair("input:0", "x.npy")));
    EXPECT_THAT(split("onnx::Concat_1:[1,2];b:3", {"b", "onnx::Concat_1"}),
                ElementsAre(Pair("onnx::Concat_1", "[1,2]"), Pair("b", "3")));
    EXPECT_THAT(split("a;b : 1; a:2", {"a", "a;b"}), ElementsAre(Pair("a;b", "1"), Pair("a", "2")));
    EXPECT_THAT(split("x:0:1", {"x", "x:0"}), ElementsAre(Pair("x:0", "1"))) << "the longest one";
    EXPECT_THAT(split("x:0;1", {"x:0"}), ElementsAre(Pair("x", "0"), Pair("", "1"))) << "no ':' behind it";
    EXPECT_THAT(split("é: ü:1", {"é: ü"}), ElementsAre(Pair("é: ü", "1")));
}

TEST(InputText, LiteralShapesFollowTheBrackets) {
    EXPECT_EQ(shape_of("1,2,3"), (Shape{3}));
    EXPECT_EQ(shape_of("[1,2,3]"), (Shape{1, 3}));
    EXPECT_EQ(shape_of("[[1,2],[3,4]]"), (Shape{1, 2, 2}));
    EXPECT_EQ(shape_of("[1,2],[3,4]"), (Shape{2, 2}));
}

TEST(InputText, DecimalPointMakesItReal) {
    EXPECT_EQ(parse_literal("1,2").dtype(), DType::i32);
    EXPECT_EQ(parse_literal("1,2.5").dtype(), DType::f64);
    EXPECT_EQ(parse_literal("-1, 2.5").data<double>()[1], 2.5);
    EXPECT_EQ(parse_literal("1.0000000001").data<double>()[0], 1.0000000001);
}

TEST(InputText, LargeIntegersAreExact) {
    Tensor large = parse_literal("[1, -9223372036854775808, 9007199254740993]");
    ASSERT_EQ(large.dtype(), DType::i64);
    EXPECT_EQ(large.data<int64_t>()[1], std::numeric_limits<int64_t>::min());
    EXPECT_EQ(large.data<int64_t>()[2], 9007199254740993);
    Tensor larger = parse_literal("18446744073709551615, 5");
    ASSERT_EQ(larger.dtype(), DType::u64);
    EXPECT_EQ(larger.data<uint64_t>()[0], std::numeric_limits<uint64_t>::max());
    auto fitted = [](const char* literal, DType dtype) {
        return cli::fit_dtype(parse_literal(literal), dtype, "--input");
    };
    EXPECT_EQ(fitted("9007199254740993", DType::u64).data<uint64_t>()[0], 9007199254740993u);
    EXPECT_EQ(fitted("7", DType::u64).data<uint64_t>()[0], 7u);
    EXPECT_THAT(message_of([&] { fitted("-5000000000", DType::u64); }), HasSubstr("uint64"));
    EXPECT_THAT(message_of([&] { fitted("9223372036854775808", DType::i64); }), HasSubstr("int64"));
    EXPECT_THAT(message_of([&] { fitted("3000000000", DType::i32); }), HasSubstr("int32"));
    EXPECT_THAT(message_of([] { parse_literal("-1, 9223372036854775808"); }), HasSubstr("no integer dtype"));
}

TEST(InputText, ErrorsNameTheirPosition) {
    EXPECT_THAT(message_of([] { parse_literal("[1,2"); }), HasSubstr("a ']' is missing at character 5"));
    EXPECT_THAT(message_of([] { parse_literal("[1,2],[3]"); }), HasSubstr("differ in length"));
    EXPECT_THAT(message_of([] { parse_literal("1,[2]"); }), HasSubstr("mixed"));
    EXPECT_THAT(message_of([] { parse_literal("1]"); }), HasSubstr("after the end"));
    EXPECT_THAT(message_of([] { parse_literal("1,,2"); }), HasSubstr("is not a number"));
    EXPECT_THAT(message_of([] { parse_literal(std::string(100000, '[')); }),
                HasSubstr("nested more than 7 deep"));
    EXPECT_THAT(message_of([] { parse_literal("18446744073709551616"); }), HasSubstr("no integer dtype"));
    EXPECT_THAT(message_of([] { parse_braced_shape("{1,2.5}"); }), HasSubstr("is not a dimension"));
    EXPECT_THAT(message_of([] { parse_braced_shape("{1e30}"); }), HasSubstr("is not a dimension"));
    EXPECT_THAT(message_of([] { parse_braced_shape("{4294967296,4294967296,0}"); }),
                HasSubstr("more elements than memory can hold"));
    EXPECT_THAT(message_of([] { parse_random("#rand(0,1,4294967296,4294967296,0)"); }),
                HasSubstr("more elements than memory can hold"));
    EXPECT_THAT(message_of([] { parse_braced_shape("{1"); }), HasSubstr("'}' is missing"));
    EXPECT_THAT(message_of([] { parse_random("#rand(3,1)"); }), HasSubstr("min <= max"));
    EXPECT_THAT(message_of([] { parse_random("#random"); }), HasSubstr("expected #rand"));
}

TEST(InputText, RandomNumbersFollowTheSeed) {
    RandomInput random = parse_random("#rand(0, 4, 2, 3)");
    EXPECT_THAT(random.shape, ElementsAre(2, 3));
    EXPECT_FALSE(random.takes_rest);
    EXPECT_TRUE(parse_random("#rand(0,4,2, ...)").takes_rest);
    TensorSpec spec{DType::f32, {100}, {}};
    auto draw = [&](uint64_t seed) { return cli::random_tensor(spec, 0, 4, seed, "--input"); };
    Tensor a = draw(1), b = draw(1), c = draw(2);
    EXPECT_EQ(a.data<float>()[7], b.data<float>()[7]);
    EXPECT_NE(a.data<float>()[7], c.data<float>()[7]);
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(a.data<float>()[i] >= 0 && a.data<float>()[i] < 4);
}

}  // namespace
}  // namespace mge::load_and_run
