// SPDX-License-Identifier: Apache-2.0
// Dtypes that only some operators support. Operators on all numbers give the results of common dtypes; those
// on all dtypes move the elements like others of the same size; all others raise an error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "libmge/mge.h"
#include "libmge/ops/elementwise/convert/bit_cast.h"
#include "libmge/ops/elementwise/convert/convert_narrow.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Inputs = std::vector<InputSpec>;

// Rare dtypes have no fast kernels: others' are their judge, in f32 or int64.
DType judge_of(DType dtype) { return dtype == DType::f64 ? DType::f32 : DType::i64; }
constexpr double looser_for_f32 = 1e9;  // the f32 result is the reference

Tensors judged(const OpInfo& op, const void* params, std::span<const Tensor> inputs) {
    Tensors common, result;
    for (auto& x : inputs) {
        bool is_rare = x && !is_among(x.dtype(), mge::DTypes::common);
        common.push_back(is_rare ? convert_dtype(x, judge_of(x.dtype())) : x);
    }
    auto outputs = apply(op, params, common);
    TensorSpecs specs;
    for (auto& x : inputs) specs.push_back(x ? x.spec() : TensorSpec{});
    auto wanted = op.infer(params, specs);
    for (size_t i = 0; i < outputs.size(); ++i)
        result.push_back(outputs[i] ? convert_dtype(outputs[i], wanted[i].dtype) : Tensor());
    return result;
}

void check_rare(const OpInfo& op, const void* params, const Inputs& inputs,
                const DTypes& dtypes = rare_types) {
    auto reference = [&](std::span<const Tensor> given) { return judged(op, params, given); };
    check_op(op, params, inputs,
             {.dtypes = dtypes,
              .reduction = 64,
              .looser = looser_for_f32,
              .gradient = false,
              .reference = reference});
}
template <class O>
void check_rare(const typename O::Params& params, const Inputs& inputs, const DTypes& dtypes = rare_types) {
    check_rare(O::info, &params, inputs, dtypes);
}

bool takes(const OpInfo& op, const void* params, const Inputs& inputs, DType dtype) {
    TensorSpecs specs;
    for (auto& input : inputs) specs.push_back({dtype, input.shape, {}});
    try {
        op.infer(params, specs);
        return true;
    } catch (const UserError&) {
        return false;
    }
}

TEST(RareDTypes, EveryElementwiseOperatorOfNumbers) {
    int checked = 0;
    for (const OpInfo* op : all_ops()) {
        if (!op->traits.elementwise || op->takes != mge::DTypes::numbers) continue;
        auto params = op->params.make();
        // Points where all of them are defined, and rounding does not decide.
        InputSpec x{.shape = {5, 13}, .values = {0.1875, 0.25, 0.6875, 0.8125, 0.9375}};
        InputSpec whole{.shape = {5, 13}, .values = {1, 2, 3, 5, 7, 11, 6}};
        for (DType dtype : rare_types) {
            Inputs inputs(op->inputs.size(), dtype == DType::f64 ? x : whole);
            if (inputs.size() > 1) inputs[1].shape = {13};
            bool is_above_one = op->name == "acosh";
            if (is_above_one) inputs[0].values = {1.5, 2.5};
            if (!takes(*op, params.get(), inputs, dtype)) continue;
            if (op->traits.promotion == Promotion::floating && is_int(dtype)) continue;
            check_rare(*op, params.get(), inputs, {dtype});
            ++checked;
        }
    }
    EXPECT_GT(checked, 80);
}

TEST(RareDTypes, Reductions) {
    InputSpec x{.shape = {3, 7, 5}, .low = 0, .high = 3};
    for (IntList axes : {IntList{}, IntList{1}, IntList{0, 2}}) {
        check_rare<ops::Sum>({.axes = axes}, {x});
        check_rare<ops::Prod>({.axes = axes}, {x});
        check_rare<ops::Max>({.axes = axes}, {x});
        check_rare<ops::Min>({.axes = axes}, {x});
        check_rare<ops::Mean>({.axes = axes}, {x}, {DType::f64});
    }
    for (int axis : {0, 1, 2}) {
        check_rare<ops::Argmax>({.axis = axis}, {x});
        check_rare<ops::Argmin>({.axis = axis}, {x});
        check_rare<ops::Cumsum>({.axis = axis}, {x});
    }
}

TEST(RareDTypes, OrderAndProducts) {
    InputSpec x{.shape = {4, 9}, .low = 0, .high = 50};
    for (bool descending : {false, true}) {
        check_rare<ops::Sort>({.descending = descending}, {x});
        check_rare<ops::Topk>({.k = 3, .descending = descending}, {x});
    }
    check_rare<ops::Matmul>({}, {{.shape = {3, 4, 9}, .low = 0}, {.shape = {9, 5}, .low = 0}});
    check_rare<ops::Matmul>({.transpose_b = true},
                            {{.shape = {4, 9}, .low = 0}, {.shape = {5, 9}, .low = 0}});
    check_rare<ops::ScatterAdd>({.axis = 1}, {{.shape = {2, 3}},
                                              {.shape = {2, 4}, .dtype = DType::i32, .values = {0, 2, 1, 2}},
                                              {.shape = {2, 4}}});
}

// Values that neither f32 nor int64 has.
TEST(RareDTypes, AllDigitsCount) {
    const double fine = 1 + 0x1p-40;
    Tensor x = make_tensor(DType::f64, {3}, {fine, 0.1, -2});
    EXPECT_THAT(values_of(ops::add(x, x)), ElementsAre(2 * fine, 0.2, -4));
    EXPECT_THAT(values_of(ops::exp(x)), ElementsAre(std::exp(fine), std::exp(0.1), std::exp(-2)));
    EXPECT_THAT(values_of(ops::clip(x, {.lower = 0.1, .upper = 1})), ElementsAre(1, 0.1, 0.1));
    EXPECT_THAT(values_of(ops::sum(x)), ElementsAre(fine + 0.1 - 2));
    EXPECT_THAT(values_of(ops::mean(x)), ElementsAre((fine + 0.1 - 2) / 3));
    EXPECT_THAT(values_of(ops::max(x)), ElementsAre(fine));
    EXPECT_THAT(values_of(ops::cumsum(x, {.axis = 0})), ElementsAre(fine, fine + 0.1, fine + 0.1 - 2));
    EXPECT_THAT(values_of(ops::matmul(x, x)), ElementsAre(fine * fine + 0.1 * 0.1 + 4));
    Tensor close = make_tensor(DType::f64, {4}, {fine, 1, NAN, 1 - 0x1p-40});
    EXPECT_THAT(values_of(ops::argmax(ops::slice(close, {.items = {0, 0, 2, 1, 0}}), {.axis = 0})),
                ElementsAre(0));
    EXPECT_THAT(values_of(ops::sort(close)[1]), ElementsAre(3, 1, 0, 2)) << "NaN last";
    EXPECT_THAT(values_of(ops::sort(close, {.descending = true})[1]), ElementsAre(0, 1, 3, 2));
    EXPECT_THAT(values_of(convert_dtype(x, DType::f32)), ElementsAre(1, double(0.1F), -2));

    Tensor large =
        tensor_from_host({DType::u64, {2}, {}}, std::array<uint64_t, 2>{UINT64_MAX, uint64_t(1) << 63}.data(),
                         default_device());
    Tensor one = make_tensor(DType::u64, {}, {1});
    auto whole = [](const Tensor& t) { return std::vector(t.data<uint64_t>(), t.data<uint64_t>() + 2); };
    EXPECT_THAT(whole(ops::sub(large, one)), ElementsAre(UINT64_MAX - 1, INT64_MAX));
    EXPECT_THAT(whole(ops::right_shift(large, one)), ElementsAre(UINT64_MAX / 2, uint64_t(1) << 62));
    EXPECT_THAT(whole(ops::floor_div(large, make_tensor(DType::u64, {}, {2}))),
                ElementsAre(UINT64_MAX / 2, uint64_t(1) << 62));
    EXPECT_THAT(values_of(ops::sort(large)[1]), ElementsAre(1, 0));
    EXPECT_THAT(values_of(ops::greater(large, one)), ElementsAre(1, 1));
    Tensor u32 = make_tensor(DType::u32, {2}, {4294967295.0, 7});
    EXPECT_THAT(values_of(ops::add(u32, u32)), ElementsAre(4294967294.0, 14)) << "wraps around";
    EXPECT_THAT(values_of(ops::sort(u32)[1]), ElementsAre(1, 0));
}

TEST(RareDTypes, Conversions) {
    Tensor x = make_tensor(DType::f64, {4}, {3e9, -1.5, 0.25, 1e19});
    EXPECT_THAT(values_of(convert_dtype(x, DType::u32)), ElementsAre(3e9, 4294967295.0, 0, 0));
    EXPECT_THAT(values_of(convert_dtype(x, DType::u64)), ElementsAre(3e9, double(UINT64_MAX), 0, 1e19));
    EXPECT_THAT(values_of(convert_dtype(x, DType::i64)), ElementsAre(3e9, -1, 0, double(INT64_MIN)));
    EXPECT_THAT(values_of(convert_dtype(x, DType::boolean)), ElementsAre(1, 1, 1, 1));
    Tensor large = make_tensor(DType::u64, {1}, {0x1p63});
    EXPECT_THAT(values_of(convert_dtype(large, DType::f64)), ElementsAre(0x1p63));
    EXPECT_THAT(values_of(convert_dtype(large, DType::f32)), ElementsAre(0x1p63));
}

const std::vector<DType> narrow_types{DType::e4m3fn, DType::e4m3fnuz, DType::e5m2, DType::e5m2fnuz,
                                      DType::e8m0,   DType::e2m1,     DType::u4,   DType::i4,
                                      DType::u2,     DType::i2};

TEST(NarrowDTypes, ConversionsBothWays) {
    for (DType narrow : narrow_types)
        for (DType wide :
             {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i32, DType::u8, DType::i64}) {
            std::vector<double> values{0, 1, 2, 3};
            if (narrow == DType::e8m0) values = {1, 2, 4, 64};
            if (narrow == DType::i2) values = {0, 1, 1, 0};
            Tensor x = make_tensor(wide, {4}, values), y = convert_dtype(x, narrow);
            EXPECT_EQ(y.dtype(), narrow);
            EXPECT_EQ(values_of(y), values) << narrow << " from " << wide;
            EXPECT_EQ(values_of(convert_dtype(y, wide)), values) << narrow << " to " << wide;
            check_op<ops::Convert>({.dtype = narrow}, {{.shape = {3, 7}}},
                                   {.dtypes = {wide}, .gradient = false});
        }
    Tensor x = make_tensor(DType::e5m2, {3}, {57344, -0.75, 1});
    EXPECT_THAT(values_of(convert_dtype(x, DType::e4m3fn)), ElementsAre(448, -0.75, 1));
    EXPECT_THAT(values_of(convert_dtype(x, DType::e5m2)), ElementsAre(57344, -0.75, 1));
}

TEST(NarrowDTypes, Overflow) {
    using P = ops::ConvertNarrow::Params;
    Tensor x = tensor_of<float>({3}, {1e6F, -INFINITY, 300});
    EXPECT_THAT(values_of(ops::convert_narrow(x, P{DType::e4m3fn})), ElementsAre(448, -448, 288));
    EXPECT_THAT(values_of(ops::convert_narrow(x, P{DType::e4m3fn, Overflow::escapes})),
                ElementsAre(testing::IsNan(), testing::IsNan(), 288));
    EXPECT_THAT(values_of(ops::convert_narrow(x, P{DType::e5m2, Overflow::escapes})),
                ElementsAre(INFINITY, -INFINITY, 320));
    Tensor thirds = tensor_of<float>({2}, {3, 5});
    auto powers = [&](PowerRounding rounding) {
        return values_of(ops::convert_narrow(thirds, P{DType::e8m0, Overflow::saturates, rounding}));
    };
    EXPECT_THAT(powers(PowerRounding::up), ElementsAre(4, 8));
    EXPECT_THAT(powers(PowerRounding::down), ElementsAre(2, 4));
    EXPECT_THAT(powers(PowerRounding::nearest), ElementsAre(4, 4));
    for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64})
        check_op<ops::ConvertNarrow>({}, {{.shape = {2, 1, 9}, .low = -900, .high = 900}},
                                     {.dtypes = {dtype}});
    EXPECT_THAT(error_of<UserError>([&] { ops::convert_narrow(x, P{DType::f16}); }),
                HasSubstr("which is not narrow"));
    EXPECT_THAT(error_of<UserError>([&] { ops::convert_narrow(tensor_of<int32_t>({1}, {1}), P{}); }),
                HasSubstr("x must be floating"));
}

TEST(AllDTypes, ReinterpretBits) {
    Tensor ones = tensor_of<float>({2}, {1, -2});
    Tensor bits = ops::bit_cast(ones, {.dtype = DType::i32});
    EXPECT_THAT(values_of(bits), ElementsAre(0x3f800000, -0x40000000));
    EXPECT_THAT(values_of(ops::bit_cast(bits, {.dtype = DType::f32})), ElementsAre(1, -2));
    check_op<ops::BitCast>({.dtype = DType::u16}, {{.shape = {3, 0, 2}}},
                           {.dtypes = {DType::f16, DType::i16}});
    check_op<ops::BitCast>({.dtype = DType::i64}, {{.shape = {5, 7}}}, {.dtypes = {DType::f64, DType::u64}});
    EXPECT_THAT(error_of<UserError>([&] { ops::bit_cast(ones, {.dtype = DType::i64}); }),
                HasSubstr("float32 and int64 have different sizes"));
    EXPECT_THAT(error_of<UserError>([&] { ops::bit_cast(ones, {.dtype = DType::boolean}); }),
                HasSubstr("the result cannot be bool"));
}

// As tensors of a common dtype of the same size are moved.
TEST(AllDTypes, AreMovedAsTheyAre) {
    std::vector<DType> moved = narrow_types;
    moved.insert(moved.end(), rare_types.begin(), rare_types.end());
    for (DType dtype : moved) {
        SCOPED_TRACE(name_of(dtype));
        std::vector<double> values{0, 1, 1, 0, 1, 0};
        if (dtype == DType::e8m0) values = {1, 2, 4, 8, 16, 32};
        Tensor x = make_tensor(dtype, {2, 3}, values),
               y = tensor_of<float>({2, 3}, {values.begin(), values.end()});
        Tensor index = tensor_of<int32_t>({2}, {2, 0}), mask = make_tensor(DType::boolean, {3}, {1, 0, 1});
        auto same = [](const Tensor& a, const Tensor& b) { EXPECT_EQ(values_of(a), values_of(b)); };
        same(ops::transpose(x, {.pattern = {1, 0}}), ops::transpose(y, {.pattern = {1, 0}}));
        same(ops::reshape(x, {.shape = {3, 2}}), ops::reshape(y, {.shape = {3, 2}}));
        same(ops::concat({x, x}, {.axis = 1}), ops::concat({y, y}, {.axis = 1}));
        same(ops::take(x, index, {.axes = {1}}), ops::take(y, index, {.axes = {1}}));
        same(ops::where(mask, x, x), ops::where(mask, y, y));
        same(ops::broadcast_to(x, {.shape = {4, 2, 3}}), ops::broadcast_to(y, {.shape = {4, 2, 3}}));
        same(ops::flip(x, {.axes = {1}}), ops::flip(y, {.axes = {1}}));
        same(ops::pad(x, {.before = {0, 1}, .after = {1, 0}, .value = 1}),
             ops::pad(y, {.before = {0, 1}, .after = {1, 0}, .value = 1}));
        same(ops::copy(x), y);
        same(ops::full({.shape = {2}, .value = 1, .dtype = dtype}), tensor_of<float>({2}, {1, 1}));
    }
}

TEST(AllDTypes, AreRefusedByEverythingElse) {
    Tensor wide = make_tensor(DType::f64, {1, 1, 3, 3}, std::vector<double>(9, 1));
    Tensor narrow = make_tensor(DType::e4m3fn, {2}, {1, 2});
    EXPECT_THAT(error_of<DTypeError>([&] { ops::conv2d(wide, wide); }),
                HasSubstr("[conv2d] takes no tensors of dtype float64"));
    EXPECT_THAT(error_of<DTypeError>([&] { ops::softmax(wide); }),
                HasSubstr("[softmax] takes no tensors of dtype float64"));
    EXPECT_THAT(error_of<DTypeError>([&] { ops::add(narrow, narrow); }),
                HasSubstr("[add] takes no tensors of dtype float8_e4m3fn"));
    EXPECT_THAT(error_of<DTypeError>([&] { ops::sum(narrow); }),
                HasSubstr("[sum] takes no tensors of dtype float8_e4m3fn"));
    EXPECT_THAT(error_of<UserError>([&] {
                    ops::concat({narrow, tensor_of<float>({1}, {1})});
                }),
                HasSubstr("have no common type"));
    EXPECT_THAT(
        error_of<DTypeError>([&] { ops::linspace(make_tensor(DType::f64, {}, {0}), Tensor(), {.num = 3}); }),
        HasSubstr("[linspace] takes no tensors of dtype float64"));
}

// Passes: what epilogues and fused steps compute in f32 stays apart.
TEST(RareDTypes, ProgramsGiveTheSame) {
    auto network = [](const Tensor& x) {
        Tensor y = ops::relu(ops::add(ops::matmul(x, x), x));
        return ops::mul(ops::transpose(y, {.pattern = {1, 0}}), ops::exp(convert_dtype(x, DType::f64)));
    };
    Tensor x = make_tensor(DType::f64, {2, 2}, {1 + 0x1p-40, 0.1, 0.2, 0.3});
    Graph graph = record({x.spec()}, [&](const Tensors& inputs) { return Tensors{network(inputs[0])}; });
    EXPECT_EQ(values_of(Executable(std::move(graph), {}).run(Tensors{x})[0]), values_of(network(x)));
}

}  // namespace
}  // namespace mge::test
