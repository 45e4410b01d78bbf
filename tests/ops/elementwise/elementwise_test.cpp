// SPDX-License-Identifier: Apache-2.0
// Every elementwise operator through the harness: shapes, dtypes, candidates, special values, gradients.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"

namespace mge::test {
namespace {

const std::vector<Shape> shapes{{}, {0}, {1}, {7}, {16}, {2, 0, 3}, {3, 31}, {2, 3, 17}, {1031}};
const double inf = HUGE_VAL;
const std::vector<double> special{NAN,  inf,   -inf, 0.0,   -0.0, 1,          -1,        0.5,  -0.5, 2.5,
                                  -2.5, 1e-38, 1e38, -1e38, 6,    3,          -3,        100,  -100, 88.5,
                                  89.5, -88,   -104, 40000, 1e10, 0.49999997, 8388607.5, -7.5, 1e-5, 20};

struct Range {
    double low = -2, high = 2;
};

// All shapes in f32, one in the other dtypes, the special values in f32.
template <class O>
void check_unary(const DTypes& dtypes, Range range, bool special_values = true,
                 const typename O::Params& params = {}) {
    for (auto& shape : shapes)
        check_op<O>(params, {{.shape = shape, .low = range.low, .high = range.high}},
                    {.dtypes = {dtypes.front()}});
    check_op<O>(params, {{.shape = {5, 13}, .low = range.low, .high = range.high}}, {.dtypes = dtypes});
    if (special_values)
        check_op<O>(params, {{.shape = {int64_t(special.size())}, .values = special}}, {.gradient = false});
}

// Shapes that meet: equal, scalars on both sides, rows, columns, and axes that cross.
const std::vector<std::pair<Shape, Shape>> pairs{{{}, {}},
                                                 {{0}, {1}},
                                                 {{7}, {7}},
                                                 {{3, 17}, {}},
                                                 {{}, {33}},
                                                 {{3, 17}, {17}},
                                                 {{3, 17}, {3, 1}},
                                                 {{4, 1}, {1, 5}},
                                                 {{2, 1, 5, 1}, {3, 1, 19}},
                                                 {{5, 4, 3}, {4, 1}},
                                                 {{1, 1}, {2, 3, 4}},
                                                 {{2, 6, 4}, {2, 1, 4}},  // rows of one vector
                                                 {{2, 1, 8}, {2, 6, 8}},
                                                 {{6, 16}, {16}},
                                                 {{1037}, {1037}}};

template <class O>
void check_binary(const DTypes& dtypes, Range a, Range b, bool special_values = true) {
    auto options = CheckOptions{.dtypes = {dtypes.front()}};
    for (auto& [x, y] : pairs)
        check_op<O>({},
                    {{.shape = x, .low = a.low, .high = a.high}, {.shape = y, .low = b.low, .high = b.high}},
                    options);
    check_op<O>(
        {}, {{.shape = {5, 13}, .low = a.low, .high = a.high}, {.shape = {13}, .low = b.low, .high = b.high}},
        {.dtypes = dtypes});
    int64_t n = int64_t(special.size());
    if (special_values)
        check_op<O>({}, {{.shape = {n, 1}, .values = special}, {.shape = {n}, .values = special}},
                    {.gradient = false});
}

constexpr Range positive{0.3, 4}, unit{-0.9, 0.9};
// f32 first: it goes through all shapes.
const DTypes numbers{DType::f32, DType::f16, DType::bf16, DType::u8, DType::i8,
                     DType::u16, DType::i16, DType::i32,  DType::i64};
const DTypes promoted{DType::f32, DType::f16, DType::bf16, DType::i32, DType::u8};
const DTypes everything{DType::f32, DType::f16, DType::bf16, DType::boolean, DType::u8,
                        DType::i8,  DType::u16, DType::i16,  DType::i32,     DType::i64};

TEST(Arithmetic, Unary) {
    check_unary<ops::Abs>(numbers, {0.3, 4});
    check_unary<ops::Neg>(numbers, {-100, 100});
    check_unary<ops::Ceil>(numbers, {-100, 100});
    check_unary<ops::Floor>(numbers, {-100, 100});
    check_unary<ops::Round>(numbers, {-100, 100});
    check_unary<ops::RoundToEven>(numbers, {-100, 100});
    check_unary<ops::Sign>(numbers, {-2, 2});
    check_unary<ops::Square>(numbers, {-12, 12});
    check_unary<ops::Sqrt>(promoted, positive);
    check_unary<ops::Rsqrt>(promoted, positive);
    check_unary<ops::Reciprocal>(promoted, positive);
}
TEST(Arithmetic, Binary) {
    check_binary<ops::Add>(numbers, {-100, 100}, {-100, 100});
    check_binary<ops::Sub>(numbers, {-100, 100}, {-100, 100});
    check_binary<ops::Mul>(numbers, {-100, 100}, {-100, 100});
    check_binary<ops::Div>(promoted, {-3, 3}, {1, 9});
    check_binary<ops::FloorDiv>(numbers, {-100, 100}, {-9, 9});
    check_binary<ops::Maximum>(numbers, {1, 50}, {-50, 0});
    check_binary<ops::Minimum>(numbers, {1, 50}, {-50, 0});
    check_binary<ops::Pow>(promoted, {0.5, 3}, {-2, 3});
}
// Its gradient is defined to be that of x alone and steps at multiples of b.
TEST(Arithmetic, Mod) {
    for (auto& dtype : numbers)
        check_op<ops::Mod>(
            {}, {{.shape = {5, 13}, .low = -100, .high = 100}, {.shape = {13}, .low = -9, .high = 9}},
            {.dtypes = {dtype}, .gradient = false});
    check_op<ops::Mod>({},
                       {{.shape = {4}, .low = 3.2, .high = 3.8}, {.differentiate = false, .values = {2}}});
}
// Remainders are exact: quotients up to 2^30 and near integers, denormal numbers, and the special values.
TEST(Arithmetic, ModHasTheBitsOfFmod) {
    std::mt19937 random(7);
    std::vector<float> a, b;
    auto add = [&](float x, float y) { a.push_back(x), b.push_back(y); };
    for (double x : special)
        for (double y : special) add(float(x), float(y));
    for (int i = 0; i < 100000; ++i) {
        const float x = std::bit_cast<float>(uint32_t(random())),
                    y = std::bit_cast<float>(uint32_t(random()));
        const float near = std::ldexp(x, int(random() % 31)), whole = float(random() % (1 << 24));
        add(x, y), add(near, x);
        for (float to : {-HUGE_VALF, HUGE_VALF}) add(std::nextafter(whole * x, to), x);
        add(std::bit_cast<float>(uint32_t(random() % 0x1000000)),
            std::bit_cast<float>(uint32_t(random() % 0x900000)));
    }
    const Shape shape{int64_t(a.size())};
    auto rest = values_of(ops::mod(tensor_of<float>(shape, a), tensor_of<float>(shape, b)));
    for (size_t i = 0; i < a.size(); ++i) {
        const float expected = std::fmod(a[i], b[i]);
        if (std::isnan(expected) && std::isnan(rest[i])) continue;
        ASSERT_EQ(std::bit_cast<uint32_t>(float(rest[i])), std::bit_cast<uint32_t>(expected))
            << a[i] << " " << b[i];
    }
}
// The kernel multiplies for exponents that are halves of small integers: the C library's values, also at
// zeros and infinities, within one unit in the last place.
TEST(Arithmetic, PowersOfHalves) {
    std::vector<float> x;
    for (double value : special) x.push_back(float(value));
    for (float value = 1e-42f; value < 1e38f; value *= 1.37f) x.push_back(value), x.push_back(-value);
    for (float exponent = -17; exponent <= 17; exponent += 0.25f) {
        Tensor b = tensor_of<float>({}, {exponent});
        auto y = values_of(ops::pow(tensor_of<float>({int64_t(x.size())}, x), b));
        for (size_t i = 0; i < x.size(); ++i) {
            const float expected = std::pow(x[i], exponent), value = float(y[i]);
            if (std::isnan(expected) && std::isnan(value)) continue;
            ASSERT_EQ(std::signbit(value), std::signbit(expected)) << x[i] << " " << exponent;
            ASSERT_LE(std::abs(std::bit_cast<int>(value) - std::bit_cast<int>(expected)), 1)
                << x[i] << " " << exponent;
        }
    }
}
TEST(Arithmetic, IntegersFollowPython) {
    Tensor a = tensor_of<int32_t>({6}, {7, -7, 7, -7, 5, INT32_MIN}),
           b = tensor_of<int32_t>({6}, {2, 2, -2, -2, 0, -1});
    EXPECT_EQ(values_of(ops::floor_div(a, b)), (std::vector<double>{3, -4, -4, 3, 0, INT32_MIN}));
    EXPECT_EQ(values_of(ops::mod(a, b)), (std::vector<double>{1, 1, -1, -1, 0, 0}));
}
// Floats divide them: multiples of each number and their neighbours, up to the ends of the type.
template <class T>
void check_division() {
    using Limits = std::numeric_limits<T>;
    std::mt19937_64 random(5);
    std::vector<T> a, b;
    auto add = [&](int64_t x, int64_t y) { a.push_back(T(x)), b.push_back(T(y)); };
    for (int64_t x : {int64_t(Limits::min()), int64_t(Limits::max())})
        for (int64_t y : {int64_t(Limits::min()), int64_t(Limits::max()), int64_t(-1), int64_t(0)})
            for (int64_t near : {-1, 0, 1}) add(x + near, y), add(y + near, x);
    for (int i = 0; i < 30000; ++i) {
        const auto y = int64_t(random() >> (random() % 64)), times = int64_t(random() >> (random() % 64));
        for (int64_t near : {-1, 0, 1}) add(int64_t(uint64_t(y) * uint64_t(times)) + near, y);
        add(int64_t(random()), int64_t(random()));
    }
    const Shape shape{int64_t(a.size())};
    const Tensor x = tensor_of<T>(shape, a), y = tensor_of<T>(shape, b);
    auto quotients = values_of(ops::floor_div(x, y)), rests = values_of(ops::mod(x, y));
    for (size_t i = 0; i < a.size(); ++i) {
        const int64_t dividend = a[i], divisor = b[i], rest = divisor ? dividend % divisor : 0;
        int64_t quotient = divisor ? dividend / divisor : 0;
        if (rest != 0 && (rest < 0) != (divisor < 0)) --quotient;
        ASSERT_EQ(quotients[i], double(T(quotient))) << dividend << " " << divisor;
        ASSERT_EQ(rests[i], double(divisor ? T(dividend - quotient * divisor) : T(0)))
            << dividend << " " << divisor;
    }
}
TEST(Arithmetic, DividesIntegersExactly) {
    check_division<int8_t>();
    check_division<uint8_t>();
    check_division<int16_t>();
    check_division<uint16_t>();
    check_division<int32_t>();
}
TEST(Arithmetic, RefusesBools) {
    Tensor t = tensor_of<bool>({1}, {true});
    try {
        ops::add(t, t);
        FAIL();
    } catch (const UserError& e) {
        EXPECT_STREQ(e.what(),
                     "[add] dtype bool is not allowed; it takes integers and floats, convert with astype");
    }
}

TEST(Comparison, All) {
    check_unary<ops::IsNan>(everything, {-2, 2});
    check_unary<ops::IsInf>(everything, {-2, 2});
    check_binary<ops::Equal>(everything, {0, 3}, {0, 3});
    check_binary<ops::NotEqual>(everything, {0, 3}, {0, 3});
    check_binary<ops::Less>(everything, {-3, 3}, {-3, 3});
    check_binary<ops::LessEqual>(everything, {-3, 3}, {-3, 3});
    check_binary<ops::Greater>(everything, {-3, 3}, {-3, 3});
    check_binary<ops::GreaterEqual>(everything, {-3, 3}, {-3, 3});
}

TEST(Bits, All) {
    DTypes bools{DType::boolean};
    check_unary<ops::LogicalNot>(bools, {0, 1}, false);
    check_binary<ops::LogicalAnd>(bools, {0, 1}, {0, 1}, false);
    check_binary<ops::LogicalOr>(bools, {0, 1}, {0, 1}, false);
    check_binary<ops::LogicalXor>(bools, {0, 1}, {0, 1}, false);
    check_unary<ops::BitwiseNot>(int_types, {-100, 100}, false);
    check_binary<ops::BitwiseAnd>(int_types, {-100, 100}, {-100, 100}, false);
    check_binary<ops::BitwiseOr>(int_types, {-100, 100}, {-100, 100}, false);
    check_binary<ops::BitwiseXor>(int_types, {-100, 100}, {-100, 100}, false);
    check_binary<ops::LeftShift>(int_types, {-100, 100}, {-1, 70}, false);
    check_binary<ops::RightShift>(int_types, {-100, 100}, {-1, 70}, false);
}

TEST(Bits, IntegersUseTwosComplement) {
    Tensor a = tensor_of<int8_t>({4}, {-1, 6, -128, 0}), b = tensor_of<int8_t>({4}, {12, 3, 127, 5});
    EXPECT_EQ(values_of(ops::bitwise_and(a, b)), (std::vector<double>{12, 2, 0, 0}));
    EXPECT_EQ(values_of(ops::bitwise_or(a, b)), (std::vector<double>{-1, 7, -1, 5}));
    EXPECT_EQ(values_of(ops::bitwise_xor(a, b)), (std::vector<double>{-13, 5, -1, 5}));
    EXPECT_EQ(values_of(ops::bitwise_not(a)), (std::vector<double>{0, -7, 127, -1}));
    EXPECT_EQ(values_of(ops::bitwise_not(tensor_of<uint8_t>({2}, {0, 200}))), (std::vector<double>{255, 55}));
    EXPECT_EQ(values_of(ops::bitwise_not(tensor_of<uint32_t>({1}, {1}))),
              (std::vector<double>{4294967294.0}));
}
TEST(Arithmetic, RoundsTiesAwayFromZeroOrToEven) {
    Tensor x = tensor_of<float>({6}, {0.5F, 1.5F, -0.5F, -2.5F, 8388607.5F, 0.49999997F});
    EXPECT_EQ(values_of(ops::round(x)), (std::vector<double>{1, 2, -1, -3, 8388608, 0}));
    EXPECT_EQ(values_of(ops::round_to_even(x)), (std::vector<double>{0, 2, 0, -2, 8388608, 0}));
}

TEST(Exponential, All) {
    check_unary<ops::Exp>(promoted, {-5, 5});
    check_unary<ops::Expm1>(promoted, {-3, 3});
    check_unary<ops::Log>(promoted, positive);
    check_unary<ops::Log1p>(promoted, {-0.7, 3});
    check_unary<ops::Erf>(promoted, {-3, 3});
    check_binary<ops::Logaddexp>(promoted, {-3, 3}, {-3, 3});
}

TEST(Trigonometric, All) {
    check_unary<ops::Sin>(promoted, {-5, 5});
    check_unary<ops::Cos>(promoted, {-5, 5});
    check_unary<ops::Tan>(promoted, {-1, 1});
    check_unary<ops::Asin>(promoted, unit);
    check_unary<ops::Acos>(promoted, unit);
    check_unary<ops::Atan>(promoted, {-5, 5});
    check_unary<ops::Sinh>(promoted, {-4, 4});
    check_unary<ops::Cosh>(promoted, {-4, 4});
    check_unary<ops::Tanh>(promoted, {-4, 4});
    check_unary<ops::Asinh>(promoted, {-4, 4});
    check_unary<ops::Acosh>(promoted, {1.2, 4});
    check_unary<ops::Atanh>(promoted, unit);
    check_binary<ops::Atan2>(promoted, {0.5, 3}, {0.5, 3});
}

TEST(Activation, All) {
    check_unary<ops::Relu>(numbers, {0.2, 3});
    check_unary<ops::Relu6>(numbers, {0.2, 5.8});
    check_unary<ops::LeakyRelu>(promoted, {-3, -0.2});
    check_binary<ops::Prelu>(numbers, {-3, -0.2}, {-1, 1});
    check_unary<ops::Sigmoid>(promoted, {-5, 5});
    check_unary<ops::Hsigmoid>(promoted, {-2.8, 2.8});
    check_unary<ops::Hswish>(promoted, {-2.8, 2.8});
    check_unary<ops::Silu>(promoted, {-5, 5});
    check_unary<ops::Gelu>(promoted, {-5, 5});
    check_unary<ops::GeluSlope>(promoted, {-5, 5});
    check_unary<ops::Softplus>(promoted, {-5, 5});
    check_unary<ops::Logsigmoid>(promoted, {-5, 5});
}

// Recorded from MegEngine: where a function has no derivative, or several.
TEST(Activation, GradientsAtKinks) {
    auto gradient = [](auto op, const OpInfo& info, std::vector<double> at) {
        Tensor x = make_tensor(DType::f32, {int64_t(at.size())}, at), y = op(x);
        Tensor dy = ops::full_like(x, {.value = 1});
        Tensors inputs{x}, outputs{y}, grads{dy};
        bool needed[] = {true};
        NoParams none;
        return values_of(info.gradient({info, &none, inputs, outputs, grads, needed})[0]);
    };
    using Values = std::vector<double>;
    EXPECT_EQ(gradient(ops::relu, ops::Relu::info, {0, 1, -1}), (Values{0, 1, 0}));
    EXPECT_EQ(gradient(ops::relu6, ops::Relu6::info, {0, 6, 3, 7}), (Values{0, 0, 1, 0}));
    EXPECT_EQ(gradient(ops::abs, ops::Abs::info, {0, 2, -2}), (Values{-1, 1, -1}));
    EXPECT_EQ(gradient(ops::hsigmoid, ops::Hsigmoid::info, {3, -3, 4}), (Values{0, 0, 0}));
    EXPECT_EQ(gradient(ops::hswish, ops::Hswish::info, {3, -3, 4, -4}), (Values{1.5, -0.5, 1, 0}));
}

TEST(Clip, Bounds) {
    check_unary<ops::Clip>(numbers, {-4, 4}, true, {.lower = -4.5, .upper = 4.5});
    check_unary<ops::Clip>({DType::f32, DType::i8}, {-4, -2}, true, {.lower = -1});
    Tensor x = tensor_of<float>({6}, {-1.25, 2.5, -3.75, 0.25, 1, NAN});
    // Recorded from MegEngine: crossing bounds, NaN.
    EXPECT_EQ(values_of(ops::clip(x, {.lower = 1, .upper = -1})), (std::vector<double>{1, -1, 1, 1, -1, -1}));
    // Integers have no NaN: as a bound it is 0.
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(values_of(ops::clip(tensor_of<int8_t>({3}, {-3, 2, 5}), {.lower = nan, .upper = 4})),
              (std::vector<double>{0, 2, 4}));
    EXPECT_EQ(values_of(ops::clip(tensor_of<uint8_t>({2}, {3, 200}), {.upper = 300})),
              (std::vector<double>{3, 200}));
}

TEST(Where, Broadcasts) {
    struct Case {
        Shape mask, a, b;
    };
    for (auto& [mask, a, b] : {Case{{}, {}, {}}, Case{{0}, {0}, {1}}, Case{{7}, {7}, {7}},
                               Case{{3, 17}, {}, {17}}, Case{{3, 1}, {3, 17}, {}},
                               Case{{4, 1}, {1, 5}, {2, 1, 1}}, Case{{1037}, {1037}, {}}, Case{{33}, {}, {}}})
        check_op<ops::Where>(
            {}, {{.shape = mask, .low = 0, .high = 1, .dtype = DType::boolean}, {.shape = a}, {.shape = b}},
            {.dtypes = everything});
    EXPECT_THROW(
        ops::where(tensor_of<float>({1}, {1}), tensor_of<float>({1}, {1}), tensor_of<float>({1}, {1})),
        UserError);
}

TEST(Convert, EveryPairOfDtypes) {
    for (DType to : everything) {
        check_op<ops::Convert>({.dtype = to}, {{.shape = {37}, .low = -200, .high = 200}},
                               {.dtypes = everything, .gradient = false});
        check_op<ops::Convert>({.dtype = to}, {{.shape = {int64_t(special.size())}, .values = special}},
                               {.gradient = false});
    }
    check_op<ops::Convert>({.dtype = DType::f32}, {{.shape = {3, 5}}});
    for (auto& shape : shapes) check_op<ops::Copy>({}, {{.shape = shape}}, {.dtypes = everything});
}
// Recorded from MegEngine.
TEST(Convert, WrapsAsRecorded) {
    Tensor x = make_tensor(DType::f32, {8}, {NAN, inf, 300, -1.5, 70000, 3e9, 1.9, -0.5});
    using Values = std::vector<double>;
    EXPECT_EQ(values_of(ops::convert(x, {.dtype = DType::u8})), (Values{0, 0, 44, 255, 112, 0, 1, 0}));
    EXPECT_EQ(values_of(ops::convert(x, {.dtype = DType::i16})), (Values{0, 0, 300, -1, 4464, 0, 1, 0}));
    EXPECT_EQ(values_of(ops::convert(x, {.dtype = DType::i32})),
              (Values{INT32_MIN, INT32_MIN, 300, -1, 70000, INT32_MIN, 1, 0}));
    EXPECT_EQ(values_of(ops::convert(x, {.dtype = DType::boolean})), (Values{1, 1, 1, 1, 1, 1, 1, 1}));
}

// Large enough for two threads, in each way of splitting the work.
TEST(Elementwise, SplitsAmongThreads) {
    check_op<ops::Add>({}, {{.shape = {300001}}, {.shape = {300001}}}, {.gradient = false});
    check_op<ops::Add>({}, {{.shape = {3, 60001}}, {.shape = {3, 1}}}, {.gradient = false});
    check_op<ops::Exp>({}, {{.shape = {70001}}}, {.gradient = false});
    check_op<ops::Add>({}, {{.shape = {70, 3, 901}}, {.shape = {3, 1}}},
                       {.dtypes = {DType::f32, DType::f16}, .gradient = false});
}

}  // namespace
}  // namespace mge::test
