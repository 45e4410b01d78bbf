// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "libmge/kernel/cpu/product/bf16_tiles.h"
#include "libmge/kernel/select.h"
#include "libmge/mge.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"
#include "tests/harness/random_tensor.h"
#include "tests/harness/run_candidate.h"

namespace mge::test {
namespace {

// How many of what.
struct Sizes {
    int64_t batch, heads, shared, queries, keys, width, value_width;
};

Shape shape_of(bool side_by_side, int64_t batch, int64_t heads, int64_t rows, int64_t width) {
    return side_by_side ? Shape{batch, rows, heads, width} : Shape{batch, heads, rows, width};
}
std::vector<InputSpec> operands(const Sizes& s, const ops::AttentionParams& p) {
    return {{.shape = shape_of(p.side_by_side, s.batch, s.heads, s.queries, s.width)},
            {.shape = shape_of(p.side_by_side, s.batch, s.shared, s.keys, s.width)},
            {.shape = shape_of(p.side_by_side, s.batch, s.shared, s.keys, s.value_width)}};
}

// Scores are sums over the width and values sums over the keys. Exponentials multiply the error of a score
// by its size, about ten here.
CheckOptions options_for(const Sizes& s) {
    return {.dtypes = float_types, .reduction = std::max(s.keys, s.width) * 4, .looser = 4};
}

void check_attention(const Sizes& s, const ops::AttentionParams& p,
                     const std::vector<InputSpec>& masks = {}) {
    auto inputs = operands(s, p);
    inputs.insert(inputs.end(), masks.begin(), masks.end());
    check_op<ops::Attention>(p, inputs, options_for(s));
}

TEST(Attention, AgreesWithItsReference) {
    for (const Sizes& s :
         {Sizes{2, 3, 3, 5, 7, 4, 6}, Sizes{1, 1, 1, 1, 1, 1, 1}, Sizes{1, 2, 2, 3, 17, 16, 16},
          Sizes{2, 4, 2, 3, 5, 3, 2}, Sizes{1, 6, 1, 2, 19, 5, 33}, Sizes{2, 4, 2, 5, 9, 8, 16}})
        for (bool causal : {false, true})
            check_attention(s, {.causal = causal,
                                .from_end = s.width == 16,
                                .side_by_side = causal == (s.value_width % 2 == 0)});
}

TEST(Attention, CutsManyKeysIntoBlocks) {
    for (const Sizes& s :
         {Sizes{1, 2, 1, 70, 300, 8, 20}, Sizes{1, 1, 1, 131, 270, 17, 4}, Sizes{1, 4, 2, 2, 300, 24, 70}})
        for (bool causal : {false, true}) {
            ops::AttentionParams p{.causal = causal, .from_end = causal};
            auto options = options_for(s);
            options.gradient = false;  // too many elements for finite differences
            check_op<ops::Attention>(p, operands(s, p), options);
        }
}

Tensor seeded_tensor(const Shape& shape, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> draw(-1, 1);
    std::vector<float> values(size_t(shape.numel()));
    for (float& value : values) value = draw(random);
    return tensor_from_host({DType::f32, shape, {}}, values.data());
}

void expect_near(const Tensor& y, const Tensor& wanted) {
    ASSERT_EQ(y.spec(), wanted.spec());
    for (int64_t i = 0; i < y.spec().numel(); ++i)
        ASSERT_NEAR(y.data<float>()[i], wanted.data<float>()[i], 1e-5F) << i;
}

// Keys that a mask hides from whole blocks of queries, or of few queries, are not computed with.
void expect_hidden_keys(int64_t queries) {
    constexpr int64_t keys = 300, seen = 200;
    const Tensor q = seeded_tensor({1, 1, queries, 8}, 1), k = seeded_tensor({1, 1, keys, 8}, 2),
                 v = seeded_tensor({1, 1, keys, 20}, 3);
    auto first = [](const Tensor& x, int64_t width) {
        return tensor_from_host({DType::f32, {1, 1, seen, width}, {}}, x.data());
    };
    for (float hidden : {-HUGE_VALF, std::numeric_limits<float>::lowest()}) {
        std::vector<float> causal(size_t(queries * keys), hidden), padding(size_t(keys), hidden);
        for (int64_t i = 0; i < queries; ++i)
            std::fill_n(causal.begin() + i * keys, i + keys - queries + 1, 0.0F);
        std::fill_n(padding.begin(), seen, 0.0F);
        expect_near(ops::attention(q, k, v, tensor_of<float>({queries, keys}, causal))[0],
                    ops::attention(q, k, v, {.causal = true, .from_end = true})[0]);
        expect_near(ops::attention(q, k, v, tensor_of<float>({keys}, padding))[0],
                    ops::attention(q, first(k, 8), first(v, 20))[0]);
    }
}

TEST(Attention, HidesKeysByMasks) {
    expect_hidden_keys(130);
    expect_hidden_keys(2);
}

// For a query without visible keys, a mask of the lowest numbers weighs all keys equally.
void expect_all_hidden_keys(int64_t queries) {
    constexpr int64_t keys = 100;
    const int64_t blind = queries / 2;
    const Tensor q = seeded_tensor({1, 1, queries, 8}, 1), k = seeded_tensor({1, 1, keys, 8}, 2),
                 v = seeded_tensor({1, 1, keys, 16}, 3);
    std::vector<float> values(size_t(queries * keys), std::numeric_limits<float>::lowest());
    for (int64_t i = 0; i < queries; ++i)
        if (i != blind) values[size_t(i * keys)] = 0;
    const Tensor y = ops::attention(q, k, v, tensor_of<float>({queries, keys}, values))[0];
    for (int64_t c = 0; c < 16; ++c) {
        float sum = 0;
        for (int64_t i = 0; i < keys; ++i) sum += v.data<float>()[i * 16 + c];
        EXPECT_NEAR(y.data<float>()[blind * 16 + c], sum / keys, 1e-5F);
        EXPECT_NEAR(y.data<float>()[c], v.data<float>()[c], 1e-5F);
    }
}

TEST(Attention, WeighsHiddenKeysOfQueriesThatSeeNone) {
    expect_all_hidden_keys(64);
    expect_all_hidden_keys(3);
}

TEST(Attention, HasNothingToDo) {
    for (const Sizes& s : {Sizes{0, 2, 1, 3, 4, 5, 6}, Sizes{2, 0, 1, 3, 4, 5, 6}, Sizes{2, 2, 1, 0, 4, 5, 6},
                           Sizes{2, 2, 1, 3, 0, 5, 6}, Sizes{2, 2, 1, 3, 4, 5, 0}}) {
        auto options = options_for(s);
        options.gradient = s.keys > 0;  // without keys log_sum_exp is infinite
        check_op<ops::Attention>({}, operands(s, {}), options);
    }
}

TEST(Attention, AddsMasksOfEveryShape) {
    Sizes s{2, 4, 2, 3, 18, 4, 5};
    for (const Shape& mask : {Shape{2, 4, 3, 18}, Shape{2, 1, 1, 18}, Shape{1, 4, 3, 18}, Shape{3, 18},
                              Shape{18}, Shape{2, 4, 3, 1}, Shape{4, 1, 1}, Shape{}})
        check_attention(s, {.scale = 0.3, .causal = true}, {{.shape = mask}});
}

TEST(Attention, AgreesAtRandomSizes) {
    unsigned seed = 7;
    std::mt19937 random(seed);
    auto draw = [&](int64_t most) { return int64_t(random() % uint64_t(most)) + 1; };
    for (int i = 0; i < 4; ++i) {
        int64_t shared = draw(3);
        Sizes s{draw(2), shared * draw(3), shared, draw(90), draw(200), draw(30), draw(30)};
        SCOPED_TRACE(testing::Message() << "seed " << seed << ", number " << i);
        ops::AttentionParams p{
            .causal = random() % 2 == 0, .from_end = random() % 2 == 0, .side_by_side = random() % 2 == 0};
        auto options = options_for(s);
        options.gradient = false;  // too many elements for finite differences
        auto inputs = operands(s, p);
        inputs.push_back({.shape = {s.queries, s.keys}});
        check_op<ops::Attention>(p, inputs, options);
    }
}

// q and k are numbers of bf16. So are v and the mask, or they are f32.
void expect_multiplies_in_tiles(const Sizes& s, const ops::AttentionParams& p, DType dtype, bool has_mask) {
    Tensors inputs;
    for (auto& operand : operands(s, p)) inputs.push_back(random_tensor(operand.shape, DType::bf16));
    if (has_mask) inputs.push_back(random_tensor({s.heads, 1, s.keys}, DType::bf16));
    for (auto& input : inputs) input = ops::convert(input, {.dtype = dtype});
    TensorSpecs specs;
    for (auto& input : inputs) specs.push_back(input.spec());
    const TensorSpecs outputs = ops::Attention::infer(p, specs);
    Problem problem{ops::Attention::name, &p, ops::Attention::info.fields, specs, outputs};
    problem.precision = Precision::relaxed;
    const std::string_view name = dtype == DType::bf16 ? "amx_tiles" : "bf16:amx_tiles";
    const auto kernels = find_kernels(ops::Attention::info, default_device());
    const Tensors expected = run_candidate(list_candidates(kernels, problem).back(), problem, inputs);
    // Weights are rounded whatever the dtype.
    auto as_bf16 = [](const Tensor& x) { return ops::convert(x, {.dtype = DType::bf16}); };
    for (int threads : {1, 2}) {
        problem.threads = threads;
        auto list = list_candidates(kernels, problem);
        auto ours = std::ranges::find(list, name, [](auto& n) { return n.candidate.name; });
        ASSERT_NE(ours, list.end());
        const Tensors got = run_candidate(*ours, problem, inputs);
        expect_close(as_bf16(got[0]), as_bf16(expected[0]), s.keys, 1, text(s.queries, ' ', dtype));
        expect_close(got[1], expected[1], s.width, 1, text("log_sum_exp ", s.queries, ' ', dtype));
    }
}

// Tiles, panels and steps with a rest, several blocks of keys and of queries, heads that share keys.
TEST(Attention, MultipliesBFloat16InTiles) {
    if (!cpu::has_bf16_tiles()) GTEST_SKIP() << "no matrix instructions";
    for (const Sizes& s : {Sizes{1, 2, 2, 4, 5, 3, 7}, Sizes{2, 2, 1, 17, 33, 32, 64},
                           Sizes{1, 1, 1, 70, 197, 64, 64}, Sizes{1, 2, 1, 67, 300, 80, 40}})
        for (bool causal : {false, true})
            for (bool has_mask : {false, true})
                for (DType dtype : {DType::bf16, DType::f32})
                    expect_multiplies_in_tiles(
                        s, {.causal = causal, .from_end = causal, .side_by_side = has_mask}, dtype, has_mask);
}

// For the backward operator: its forward results are given, and need not match the operands.
void check_backward(const Sizes& s, const ops::AttentionParams& p, CheckOptions options,
                    const std::vector<InputSpec>& more = {}) {
    auto inputs = operands(s, p);
    InputSpec y{.shape = shape_of(p.side_by_side, s.batch, s.heads, s.queries, s.value_width)};
    InputSpec rows{.shape = {s.batch, s.heads, s.queries}, .low = 2, .high = 4, .dtype = DType::f32};
    inputs.insert(inputs.end(), {y, y, rows});
    inputs.insert(inputs.end(), more.begin(), more.end());
    check_op<ops::AttentionBackward>(p, inputs, options);
}

TEST(AttentionBackward, AgreesWithItsReferenceAndHasAGradientItself) {
    for (const Sizes& s :
         {Sizes{1, 1, 1, 3, 4, 5, 2}, Sizes{2, 4, 2, 3, 5, 3, 4}, Sizes{1, 4, 2, 3, 5, 16, 8}})
        for (bool causal : {false, true})
            for (bool side_by_side : {false, true}) {
                ops::AttentionParams p{
                    .causal = causal, .from_end = s.width == 16, .side_by_side = side_by_side};
                InputSpec dlog{.shape = {s.batch, s.heads, s.queries}, .dtype = DType::f32};
                check_backward(s, p, options_for(s));
                if (causal != side_by_side)
                    check_backward(s, p, options_for(s), {{.shape = {s.heads, 1, s.keys}}, dlog});
            }
}

TEST(AttentionBackward, CutsManyKeysIntoBlocks) {
    for (const Sizes& s : {Sizes{1, 2, 1, 70, 300, 8, 20}, Sizes{2, 1, 1, 131, 137, 17, 4}})
        for (bool causal : {false, true}) {
            auto options = options_for(s);
            options.gradient = false;  // too many elements for finite differences
            check_backward(s, {.causal = causal, .from_end = true}, options, {{.shape = {s.keys}}});
        }
}

TEST(Attention, MatchesTheFormula) {
    Tensor q = tensor_of<float>({1, 1, 1, 1}, {1}), k = tensor_of<float>({1, 1, 2, 1}, {0, std::log(3.0F)});
    Tensors y = ops::attention(q, k, tensor_of<float>({1, 1, 2, 1}, {4, 8}));
    EXPECT_NEAR(values_of(y[0])[0], 7, 1e-5);
    EXPECT_NEAR(values_of(y[1])[0], std::log(4), 1e-6);
}

TEST(Attention, FullyMaskedQueryGivesZeros) {
    Tensor x = tensor_of<float>({1, 1, 2, 1}, {1, 2}), mask = tensor_of<float>({2, 1}, {-HUGE_VALF, 0});
    Tensors y = ops::attention(x, x, x, mask);
    EXPECT_EQ(values_of(y[0])[0], 0);
    EXPECT_GT(values_of(y[0])[1], 1);
    EXPECT_EQ(values_of(y[1])[0], HUGE_VAL);
    // More queries than keys, counted from the end: the first two see nothing.
    Tensor q = tensor_of<float>({1, 1, 3, 1}, {1, 2, 3}), k = tensor_of<float>({1, 1, 1, 1}, {5});
    y = ops::attention(q, k, k, {.causal = true, .from_end = true});
    EXPECT_THAT(values_of(y[0]), testing::ElementsAre(0, 0, 5));
    Tensors grads = ops::attention_backward({q, k, k, y[0], y[0], y[1]}, {.causal = true, .from_end = true});
    for (auto& grad : grads) EXPECT_THAT(values_of(grad), testing::Each(testing::Not(testing::IsNan())));
}

TEST(Attention, NanOrInfinityGivesNan) {
    for (float bad : {std::numeric_limits<float>::quiet_NaN(), HUGE_VALF}) {
        std::vector<float> keys(40, 1), values(40, 2);
        keys[17] = bad;
        Tensor k = tensor_of<float>({1, 1, 40, 1}, keys), v = tensor_of<float>({1, 1, 40, 1}, values);
        Tensors y = ops::attention(tensor_of<float>({1, 1, 1, 1}, {1}), k, v);
        EXPECT_TRUE(std::isnan(values_of(y[0])[0]));
    }
}

TEST(Attention, CausalCountsFromTheFirstOrTheLast) {
    // All scores are alike, so a row is the mean of the values seen.
    Tensor q = tensor_of<float>({1, 1, 2, 1}, {0, 0}), k = tensor_of<float>({1, 1, 3, 1}, {1, 3, 8});
    EXPECT_THAT(values_of(ops::attention(q, k, k, {.causal = true})[0]), testing::ElementsAre(1, 2));
    EXPECT_THAT(values_of(ops::attention(q, k, k, {.causal = true, .from_end = true})[0]),
                testing::ElementsAre(2, 4));
}

TEST(Attention, RejectsInvalidArguments) {
    auto x = [](Shape shape) {
        return tensor_of<float>(shape, std::vector<float>(size_t(shape.numel()), 1));
    };
    Tensor q = x({1, 3, 2, 4}), k = x({1, 2, 5, 4});
    expect_user_error(ErrorClass::value,
                      "[attention] the number of heads of k must divide that of q, got q (1, 3, 2, 4), "
                      "k (1, 2, 5, 4) and v (1, 2, 5, 4)",
                      [&] { ops::attention(q, k, k); });
    expect_user_error(ErrorClass::value,
                      "[attention] q, k and v must have four axes, got q (1, 2, 3), k (1, 2, 5, 4) and "
                      "v (1, 2, 5, 4)",
                      [&] {
                          ops::attention(x({1, 2, 3}), k, k);
                      });
    expect_user_error(ErrorClass::value,
                      "[attention] q, k and v must have equal batches, k and v equal heads and rows, q and k "
                      "equal widths, got q (1, 2, 5, 4), k (1, 2, 5, 4) and v (1, 3, 2, 4)",
                      [&] { ops::attention(k, k, q); });
    expect_user_error(ErrorClass::value,
                      "[attention] the mask must broadcast to (batch, heads, queries, keys) = "
                      "(1, 2, 5, 5), got (4, 5)",
                      [&] {
                          ops::attention(k, k, k, x({4, 5}));
                      });
    expect_user_error(ErrorClass::value,
                      "[attention_backward] y must have shape (1, 2, 5, 4), got (1, 3, 2, 4)", [&] {
                          ops::attention_backward({k, k, k, k, q, x({1, 2, 5})});
                      });
}

}  // namespace
}  // namespace mge::test
