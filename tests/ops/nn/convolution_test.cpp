// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "libmge/mge.h"
#include "libmge/ops/nn/convolution/geometry.h"
#include "tests/harness/check_op.h"

namespace mge::test {
namespace {

struct Case {
    Shape x, weight;
    ops::Pair stride{1, 1}, padding{0, 0}, dilation{1, 1};
    int64_t groups = 1;

    int64_t reduction() const {
        int r = weight.rank();
        return weight[r - 1] * weight[r - 2] * weight[r - 3];
    }
    ops::Conv2d::Params params() const { return {stride, padding, dilation, groups}; }
};

const Case cases[] = {
    {{1, 1, 1, 1}, {1, 1, 1, 1}},
    {{2, 3, 7, 8}, {4, 3, 3, 3}, {1, 1}, {1, 1}},
    {{2, 3, 7, 8}, {5, 3, 2, 3}, {2, 1}, {0, 2}, {1, 2}},
    {{1, 3, 11, 9}, {16, 3, 5, 5}, {2, 2}, {2, 2}},
    {{1, 1, 12, 12}, {6, 1, 5, 5}},
    {{1, 6, 9, 10}, {16, 6, 5, 5}},
    // Images that are computed by vectors of pixels or of channels: rows of less than a vector, of a prime
    // length, of more than one run; the last block of channels not full.
    {{1, 1, 28, 28}, {6, 1, 5, 5}, {1, 1}, {2, 2}},
    {{2, 3, 5, 3}, {17, 3, 3, 3}},
    {{3, 2, 4, 31}, {20, 2, 3, 5}, {1, 1}, {1, 2}, {1, 1}},
    {{1, 4, 13, 7}, {11, 4, 3, 2}, {1, 1}, {2, 3}, {2, 3}},
    {{1, 32, 9, 9}, {32, 32, 3, 3}, {1, 1}, {1, 1}},
    {{1, 17, 5, 6}, {33, 17, 1, 1}},
    {{2, 16, 6, 6}, {32, 16, 1, 1}, {2, 2}},
    {{1, 32, 7, 7}, {32, 1, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 32},
    {{1, 8, 6, 6}, {2, 6, 4, 3, 3}, {2, 2}, {1, 1}, {1, 1}, 2},
    {{2, 5, 4, 4}, {1, 3, 5, 3, 3}, {1, 1}, {2, 2}, {2, 2}, 1},
    {{4, 2, 13, 13}, {3, 2, 3, 3}, {1, 1}, {1, 1}},  // long sums behind the gradient of the weight
    {{0, 2, 5, 5}, {3, 2, 3, 3}},
    // One column, as convolutions along one axis have, and windows wider than depthwise kernels take.
    {{2, 17, 23, 1}, {20, 17, 5, 1}, {2, 1}, {3, 0}, {2, 1}},
    {{1, 16, 40, 1}, {32, 16, 3, 1}, {1, 1}, {1, 0}},
    {{1, 8, 21, 1}, {2, 4, 4, 5, 1}, {1, 1}, {2, 0}, {1, 1}, 2},
    {{2, 16, 40, 1}, {16, 1, 1, 31, 1}, {1, 1}, {15, 0}, {1, 1}, 16},
    {{1, 16, 17, 20}, {16, 1, 1, 3, 15}, {1, 1}, {1, 7}, {1, 1}, 16},
    // Gradients of depthwise weights: pixels beyond the last window, several images, part blocks of channels.
    {{3, 20, 16, 13}, {20, 1, 1, 5, 4}, {2, 3}, {3, 1}, {1, 2}, 20},
};

bool has_window_on_padding(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
    return has_empty_window(ops::conv_geometry("test", {{stride, 1}, {padding, 0}, {dilation, 1}, 1},
                                               {1, 1, in, 1}, {1, 1, kernel, 1}));
}
bool sees_only_padding(int64_t window, int64_t in, int64_t kernel, int64_t dilation) {
    for (int64_t k = 0; k < kernel; ++k)
        if (int64_t at = window + k * dilation; at >= 0 && at < in) return false;
    return true;
}

TEST(Conv2d, FindsWindowsOnPadding) {
    for (int64_t i = 0; i < 6 * 5 * 4 * 7 * 5; ++i) {
        int64_t in = i % 6 + 1, kernel = i / 6 % 5 + 1, stride = i / 30 % 4 + 1, padding = i / 120 % 7,
                dilation = i / 840 + 1;
        int64_t last = in + padding - (kernel - 1) * dilation - 1;
        if (last < -padding) continue;
        bool expected = false;
        for (int64_t window = -padding; window <= last; window += stride)
            expected |= sees_only_padding(window, in, kernel, dilation);
        EXPECT_EQ(has_window_on_padding(in, kernel, stride, padding, dilation), expected)
            << in << ' ' << kernel << ' ' << stride << ' ' << padding << ' ' << dilation;
    }
    // Not by looking at each element of each window.
    EXPECT_FALSE(has_window_on_padding(1 << 30, 1 << 29, 1, 1 << 28, 1));
}

TEST(Conv2d, EveryCandidateAgreesWithTheReference) {
    for (auto& c : cases)
        check_op<ops::Conv2d>(c.params(), {{.shape = c.x}, {.shape = c.weight}},
                              {.dtypes = float_types,
                               .reduction = c.reduction(),
                               // F(4,3) multiplies by constants up to 8 and sums 36 products for 9.
                               .looser = 3,
                               .gradient = c.weight.numel() < 2000});
}

TEST(Conv2d, BackwardCandidatesAgreeWithTheReference) {
    for (auto& c : cases) {
        Shape y = ops::Conv2d::infer(
                      c.params(), std::vector<TensorSpec>{{DType::f32, c.x, {}}, {DType::f32, c.weight, {}}})
                      .at(0)
                      .shape;
        CheckOptions options{.dtypes = float_types,
                             .reduction = std::max(c.reduction() * 8, y.numel()),
                             .looser = 3,
                             .gradient = c.weight.numel() < 500};
        check_op<ops::Conv2dBackwardData>(
            {c.stride, c.padding, c.dilation, c.groups},
            {{.shape = c.weight}, {.shape = y}, {.shape = c.x, .differentiate = false}}, options);
        check_op<ops::Conv2dBackwardWeight>(
            {c.stride, c.padding, c.dilation, c.groups},
            {{.shape = c.x}, {.shape = y}, {.shape = c.weight, .differentiate = false}}, options);
    }
}

TEST(Conv2d, AddsBiasAndResidualAndActivates) {
    for (Activation activation :
         {Activation::none, Activation::relu, Activation::relu6, Activation::hswish, Activation::silu,
          Activation::gelu, Activation::sigmoid, Activation::tanh}) {
        ops::Conv2d::Params params{.padding = {1, 1}, .activation = activation};
        for (int64_t channels : {3, 32}) {
            if (channels == 32 && activation > Activation::relu6) continue;
            InputSpec x{.shape = {1, channels, 6, 7}},
                weight{.shape = {20, channels, 3, 3}, .low = -0.3, .high = 0.3};
            CheckOptions options{
                .dtypes = float_types, .reduction = channels * 9, .looser = 3, .gradient = false};
            check_op<ops::Conv2d>(params, {x, weight, {.shape = {1, 20, 1, 1}}, {.shape = {1, 20, 6, 7}}},
                                  options);
            check_op<ops::Conv2d>(params, {x, weight, {.absent = true}, {.shape = {1, 20, 6, 7}}}, options);
        }
    }
}

TEST(Conv2d, DifferentiatesBiasAndResidual) {
    check_op<ops::Conv2d>(
        {},
        {{.shape = {2, 2, 4, 4}}, {.shape = {3, 2, 3, 3}}, {.shape = {1, 3, 1, 1}}, {.shape = {2, 3, 2, 2}}},
        {.reduction = 18});
}

TEST(Conv2d, TransposedUsesSizeParameters) {
    Tensor weight = ops::full({.shape = {3, 2, 3, 3}}), dy = ops::full({.shape = {1, 3, 2, 2}});
    EXPECT_EQ(ops::conv2d_backward_data(weight, dy, {.stride = {2, 2}}).shape(), (Shape{1, 2, 5, 5}));
    EXPECT_EQ(ops::conv2d_backward_data(weight, dy, {.stride = {2, 2}, .height = 6, .width = 5}).shape(),
              (Shape{1, 2, 6, 5}));
}

std::string message_of(const Shape& x, const Shape& weight, const ops::Conv2d::Params& params = {}) {
    TensorSpec specs[] = {{DType::f32, x, {}}, {DType::f32, weight, {}}};
    try {
        ops::Conv2d::infer(params, specs);
    } catch (const UserError& e) {
        return e.what();
    }
    return "";
}

TEST(Conv2d, RejectsMismatchedShapes) {
    EXPECT_EQ(message_of({1, 2, 2, 2}, {3, 2, 3, 3}),
              "[conv2d] the window covers 3 rows, but the padded input has 2");
    EXPECT_EQ(message_of({1, 2, 5, 5}, {3, 4, 3, 3}),
              "[conv2d] the input (1, 2, 5, 5) has 2 channels, the weight (3, 4, 3, 3) takes 4");
    EXPECT_EQ(
        message_of({1, 4, 5, 5}, {4, 2, 3, 3}, {.groups = 2}),
        "[conv2d] with 2 groups the weight must have the shape (G, OC/G, IC/G, kh, kw), got (4, 2, 3, 3)");
    EXPECT_EQ(message_of({1, 2, 5, 5}, {3, 2, 3, 3}, {.stride = {0, 1}}),
              "[conv2d] stride and dilation must be at least 1, got 0 and 1");
    EXPECT_EQ(message_of({2, 5, 5}, {3, 2, 3, 3}),
              "[conv2d] the input must have the shape (N, C, H, W), got (2, 5, 5)");
}

}  // namespace
}  // namespace mge::test
