// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"

namespace mge::test {
namespace {

struct NormCase {
    Shape x;
    int64_t parameter;  // trailing axes of layer norm, groups of group norm
};

// Statistics over n elements: the reduction length of the tolerance table.
constexpr int64_t reduction = 4096;

TEST(LayerNorm, AgreesWithItsReference) {
    for (auto [x, axes] : {NormCase{{3, 1}, 1}, NormCase{{5, 7}, 1}, NormCase{{2, 3, 31}, 2},
                           NormCase{{4, 768}, 1}, NormCase{{0, 4}, 1}, NormCase{{33}, 1},
                           NormCase{{6, 64}, 1}, NormCase{{2, 301}, 1}, NormCase{{2, 9000}, 1}}) {
        Shape normalized;
        for (int i = x.rank() - int(axes); i < x.rank(); ++i) normalized.push_back(x[i]);
        ops::LayerNorm::Params params{.axes = int(axes), .epsilon = 1e-2};
        CheckOptions options{.dtypes = float_types, .reduction = reduction};
        check_op<ops::LayerNorm>(params, {{.shape = x}, {.shape = normalized}, {.shape = normalized}},
                                 options);
        check_op<ops::LayerNorm>(params, {{.shape = x}, {.absent = true}, {.absent = true}}, options);
    }
}

TEST(LayerNormBackward, HasAGradientItself) {
    for (auto [x, axes] : {NormCase{{3, 5}, 1}, NormCase{{2, 2, 3, 4}, 2}, NormCase{{3, 64}, 1}}) {
        Shape rows, normalized;
        for (int i = 0; i < x.rank(); ++i) (i < x.rank() - int(axes) ? rows : normalized).push_back(x[i]);
        InputSpec mean{.shape = rows, .low = -1, .high = 1, .dtype = DType::f32};
        InputSpec inv_std{.shape = rows, .low = 0.5, .high = 1.5, .dtype = DType::f32};
        InputSpec statistics{.shape = rows, .dtype = DType::f32};
        CheckOptions options{.dtypes = float_types, .reduction = reduction};
        ops::LayerNormBackward::Params params{.axes = int(axes)};
        check_op<ops::LayerNormBackward>(params, {{.shape = x}, {.shape = x}, mean, inv_std}, options);
        check_op<ops::LayerNormBackward>(
            params,
            {{.shape = x}, {.shape = x}, mean, inv_std, {.shape = normalized}, statistics, statistics},
            options);
    }
}

TEST(LayerNorm, MatchesTheFormula) {
    Tensor x = tensor_of<float>({2, 2}, {1, 3, -2, 2});
    Tensors y =
        ops::layer_norm(x, tensor_of<float>({2}, {1, 10}), tensor_of<float>({2}, {0, 1}), {.epsilon = 0});
    EXPECT_THAT(values_of(y[0]), testing::ElementsAre(-1, 11, -1, 11));
    EXPECT_THAT(values_of(y[1]), testing::ElementsAre(2, 0));
    EXPECT_THAT(values_of(y[2]), testing::ElementsAre(1, 0.5));
}

// Squares of such numbers overflow in single precision.
TEST(Norm, TakesRowsOfHugeNumbers) {
    Tensor x = tensor_of<float>({2, 4}, {1e20F, 3e20F, 1e20F, 3e20F, 1, 3, 1, 3});
    auto expected = testing::ElementsAre(-1, 1, -1, 1, -1, 1, -1, 1);
    Tensors layers = ops::layer_norm(x, {}, {}, {.epsilon = 0});
    EXPECT_THAT(values_of(layers[0]), expected);
    EXPECT_THAT(values_of(layers[1]), testing::ElementsAre(2e20F, 2));
    EXPECT_THAT(values_of(layers[2]), testing::ElementsAre(1e-20F, 1));
    EXPECT_THAT(values_of(ops::group_norm(x, {}, {}, {.groups = 1, .epsilon = 0})[0]), expected);
}

TEST(LayerNorm, RejectsInvalidArguments) {
    try {
        ops::layer_norm(tensor_of<float>({2, 2}, {1, 3, -2, 2}), {.axes = 3});
        FAIL();
    } catch (const UserError& e) {
        EXPECT_STREQ(e.what(), "[layer_norm] axes must be in [1, 2] for x of shape (2, 2), got 3");
    }
    EXPECT_THROW(ops::layer_norm(tensor_of<float>({1, 2}, {1, 3}), tensor_of<float>({1}, {1}), Tensor()),
                 UserError);
}

TEST(GroupNorm, AgreesWithItsReference) {
    for (auto [x, groups] : {NormCase{{2, 4, 3, 5}, 2}, NormCase{{1, 6}, 3}, NormCase{{2, 3, 17}, 1},
                             NormCase{{2, 5, 4, 4}, 5}, NormCase{{0, 4, 2}, 2}, NormCase{{2, 6, 4, 8}, 3}}) {
        Shape channels{x[1]};
        ops::GroupNorm::Params params{.groups = groups, .epsilon = 1e-2};
        CheckOptions options{.dtypes = float_types, .reduction = reduction};
        check_op<ops::GroupNorm>(params, {{.shape = x}, {.shape = channels}, {.shape = channels}}, options);
        check_op<ops::GroupNorm>(params, {{.shape = x}, {.absent = true}, {.absent = true}}, options);
    }
}

TEST(GroupNormBackward, HasAGradientItself) {
    for (auto [x, groups] : {NormCase{{2, 4, 3, 2}, 2}, NormCase{{2, 6}, 3}, NormCase{{3, 2, 5}, 2}}) {
        Shape rows{x[0], groups}, channels{x[1]};
        InputSpec mean{.shape = rows, .low = -1, .high = 1, .dtype = DType::f32};
        InputSpec inv_std{.shape = rows, .low = 0.5, .high = 1.5, .dtype = DType::f32};
        InputSpec statistics{.shape = rows, .dtype = DType::f32};
        CheckOptions options{.dtypes = float_types, .reduction = reduction};
        ops::GroupNormBackward::Params params{.groups = groups};
        check_op<ops::GroupNormBackward>(params, {{.shape = x}, {.shape = x}, mean, inv_std}, options);
        check_op<ops::GroupNormBackward>(
            params, {{.shape = x}, {.shape = x}, mean, inv_std, {.shape = channels}, statistics, statistics},
            options);
    }
}

TEST(GroupNorm, NormalisesEachGroup) {
    Tensor x = tensor_of<float>({1, 4, 1}, {1, 3, -2, 2});
    Tensors y = ops::group_norm(x, {.groups = 2, .epsilon = 0});
    EXPECT_THAT(values_of(y[0]), testing::ElementsAre(-1, 1, -1, 1));
    EXPECT_THAT(values_of(y[1]), testing::ElementsAre(2, 0));
}

TEST(GroupNorm, RefusesGroupsThatDoNotDivide) {
    try {
        ops::group_norm(tensor_of<float>({1, 3}, {1, 2, 3}), {.groups = 2});
        FAIL();
    } catch (const UserError& e) {
        EXPECT_STREQ(e.what(), "[group_norm] groups must divide the 3 channels of x, got 2");
    }
}

}  // namespace
}  // namespace mge::test
