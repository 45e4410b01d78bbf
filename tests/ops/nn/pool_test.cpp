// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"

namespace mge::test {
namespace {

using ops::Pair;

struct PoolCase {
    Shape x;
    Pair kernel, stride, padding;
};
const PoolCase pool_cases[] = {
    {{1, 1, 2, 2}, {2, 2}, {2, 2}, {0, 0}},    {{2, 3, 7, 9}, {3, 3}, {2, 2}, {1, 1}},
    {{1, 2, 28, 28}, {2, 2}, {2, 2}, {0, 0}},  {{1, 2, 5, 40}, {2, 5}, {1, 3}, {1, 2}},
    {{2, 1, 7, 7}, {7, 7}, {1, 1}, {0, 0}},    {{0, 3, 4, 4}, {2, 2}, {2, 2}, {0, 0}},
    {{2, 3, 10, 11}, {2, 2}, {2, 2}, {0, 0}},  {{1, 1, 7, 6}, {3, 2}, {1, 2}, {0, 0}},
    {{1, 2, 6, 61}, {3, 2}, {2, 2}, {1, 0}},   {{1, 1, 3, 50}, {2, 20}, {1, 2}, {0, 3}},
    {{1, 1, 2, 3000}, {1, 3}, {1, 2}, {0, 1}}, {{1, 1, 2, 3000}, {2, 1500}, {2, 700}, {0, 0}}};

// A maximum has kinks: the inputs of its finite differences are far apart from each other.
std::vector<double> shuffled(int64_t count) {
    std::vector<double> values(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) values[size_t(i)] = double(i * 7919 % 1009) / 16;
    return values;
}

TEST(MaxPool2d, AgreesWithItsReference) {
    for (auto& c : pool_cases)
        check_op<ops::MaxPool2d>({.kernel = c.kernel, .stride = c.stride, .padding = c.padding},
                                 {{.shape = c.x, .values = shuffled(c.x.numel())}},
                                 {.dtypes = float_types, .gradient = c.x.numel() < 1009});
}

// A window of nothing but -∞ is -∞; of a NaN and a number the number counts.
TEST(MaxPool2d, CandidatesAgreeOnSpecialNumbers) {
    constexpr double inf = HUGE_VAL, nan = std::numeric_limits<double>::quiet_NaN();
    for (auto& values :
         {std::vector{-inf}, std::vector{-inf, inf, 1.0}, std::vector{nan, 1.0, 2.0, -3.0, 0.5}})
        for (Pair padding : {Pair{0, 0}, Pair{1, 1}})
            check_op<ops::MaxPool2d>({.kernel = {2, 2}, .stride = {2, 2}, .padding = padding},
                                     {{.shape = {1, 32, 6, 6}, .values = values}},
                                     {.dtypes = float_types, .gradient = false});
}

TEST(MaxPool2d, AgreesWithItsReferenceOnBytes) {
    for (DType dtype : {DType::u8, DType::i8}) {
        const double low = dtype == DType::u8 ? 0 : -128;
        for (auto& c : pool_cases)
            check_op<ops::MaxPool2d>({.kernel = c.kernel, .stride = c.stride, .padding = c.padding},
                                     {{.shape = c.x, .low = low, .high = low + 255, .dtype = dtype}},
                                     {.gradient = false});
        // The lowest values, which the start of a maximum must not exceed.
        check_op<ops::MaxPool2d>({.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}},
                                 {{.shape = {1, 33, 5, 6}, .dtype = dtype, .values = {low}}},
                                 {.gradient = false});
    }
}

TEST(AvgPool2d, AgreesWithItsReference) {
    for (auto& c : pool_cases)
        for (bool count_include_pad : {false, true})
            check_op<ops::AvgPool2d>({.kernel = c.kernel,
                                      .stride = c.stride,
                                      .padding = c.padding,
                                      .count_include_pad = count_include_pad},
                                     {{.shape = c.x}},
                                     {.dtypes = float_types, .reduction = c.kernel[0] * c.kernel[1]});
}

TEST(AdaptivePool2d, AgreesWithItsReference) {
    for (Pair size : {Pair{1, 1}, Pair{2, 3}, Pair{7, 5}}) {
        Shape x{2, 3, 7, 5};
        check_op<ops::AdaptiveAvgPool2d>({.height = size[0], .width = size[1]}, {{.shape = x}},
                                         {.dtypes = float_types, .reduction = 35});
        check_op<ops::AdaptiveMaxPool2d>({.height = size[0], .width = size[1]},
                                         {{.shape = x, .values = shuffled(x.numel())}},
                                         {.dtypes = float_types});
    }
}

TEST(PoolBackward, AgreesWithItsReference) {
    for (auto& c : pool_cases) {
        Shape y = ops::pool_geometry("test", c.x, c.kernel, c.stride, c.padding).y_shape();
        int64_t windows = c.kernel[0] * c.kernel[1];
        check_op<ops::AvgPool2dBackward>({.kernel = c.kernel, .stride = c.stride, .padding = c.padding},
                                         {{.shape = c.x}, {.shape = y}},
                                         {.dtypes = float_types, .reduction = windows, .gradient = false});
        // Few different values: many elements are the largest of their window.
        check_op<ops::MaxPool2dBackward>(
            {.kernel = c.kernel, .stride = c.stride, .padding = c.padding},
            {{.shape = c.x, .values = {0, 1, 1, 0, 1}}, {.shape = y, .values = {1}}, {.shape = y}},
            {.dtypes = float_types, .reduction = windows, .gradient = false});
    }
}

// Which elements are the largest is a matter of x and y: finite differences of dy and of v alone.
std::vector<InputSpec> with_fixed_choice(const Shape& x, const Shape& y, const Shape& last) {
    return {{.shape = x, .differentiate = false, .values = {0, 1, 1, 0, 1}},
            {.shape = y, .differentiate = false, .values = {1}},
            {.shape = last}};
}

TEST(PoolBackward, HasAGradientItself) {
    for (auto& c : {pool_cases[0], pool_cases[1], pool_cases[3]}) {
        Shape y = ops::pool_geometry("test", c.x, c.kernel, c.stride, c.padding).y_shape();
        CheckOptions options{.dtypes = float_types, .reduction = c.kernel[0] * c.kernel[1]};
        check_op<ops::MaxPool2dBackward>({.kernel = c.kernel, .stride = c.stride, .padding = c.padding},
                                         with_fixed_choice(c.x, y, y), options);
        check_op<ops::MaxPool2dSelect>({.kernel = c.kernel, .stride = c.stride, .padding = c.padding},
                                       with_fixed_choice(c.x, y, c.x), options);
        check_op<ops::AvgPool2dBackward>({.kernel = c.kernel, .stride = c.stride, .padding = c.padding},
                                         {{.shape = c.x, .differentiate = false}, {.shape = y}}, options);
    }
    Shape x{2, 3, 7, 5}, y{2, 3, 2, 3};
    CheckOptions options{.dtypes = float_types, .reduction = 35};
    check_op<ops::AdaptiveMaxPool2dBackward>({.height = 2, .width = 3}, with_fixed_choice(x, y, y), options);
    check_op<ops::AdaptiveMaxPool2dSelect>({.height = 2, .width = 3}, with_fixed_choice(x, y, x), options);
    check_op<ops::AdaptiveAvgPool2dBackward>({.height = 2, .width = 3},
                                             {{.shape = x, .differentiate = false}, {.shape = y}}, options);
}

Tensor counting(const Shape& shape) {
    std::vector<float> values(size_t(shape.numel()));
    std::iota(values.begin(), values.end(), 0.0F);
    return tensor_of<float>(shape, values);
}

TEST(AdaptivePool2d, TakesEqualStepsAndOneWindow) {
    // 7 pixels for 4 results: windows of 4, one pixel apart.
    Tensor y = ops::adaptive_avg_pool2d(counting({1, 1, 1, 7}), {.height = 1, .width = 4});
    EXPECT_THAT(values_of(y), testing::ElementsAre(1.5, 2.5, 3.5, 4.5));
}

TEST(MaxPool2d, GradientGoesToEveryMaximum) {
    Tensor ones = tensor_of<float>({1, 1, 2, 2}, {1, 1, 1, 1});
    Tensor dx = ops::max_pool2d_backward(ones, tensor_of<float>({1, 1, 1, 1}, {1}),
                                         tensor_of<float>({1, 1, 1, 1}, {3}), {.kernel = {2, 2}});
    EXPECT_THAT(values_of(dx), testing::ElementsAre(3, 3, 3, 3));
}

// Runs the first algorithm for x, of type T, laid out as (N, C / inner, H, W, inner).
template <class T = float>
std::vector<T> pooled_in_layout(const OpInfo& op, const void* params, const Tensor& x, std::string_view name,
                                int64_t inner) {
    auto& shape = x.shape();
    int64_t blocks = shape[1] / inner, pixels = shape[2] * shape[3];
    std::vector<T> in(size_t(shape.numel()));
    for (int64_t n = 0; n < shape[0]; ++n)
        for (int64_t c = 0; c < shape[1]; ++c)
            for (int64_t i = 0; i < pixels; ++i)
                in[size_t(((n * blocks + c / inner) * pixels + i) * inner + c % inner)] =
                    x.data<T>()[(n * shape[1] + c) * pixels + i];
    TensorSpecs inputs{{x.dtype(), shape, Layout::named(name)}};
    TensorSpecs outputs = op.infer(params, std::array{x.spec()});
    outputs[0].layout = inputs[0].layout;
    Problem problem{op.name, params, op.fields, inputs, outputs, 0, default_device(), 2};
    auto kernels = find_kernels(op, default_device());
    auto& algorithm = *std::ranges::find_if(kernels, [&](auto& a) { return bool(a.supports(problem)); });
    Prepared prepared = algorithm.prepare({problem, {algorithm.name}, {}});
    std::vector<T> out(size_t(outputs[0].numel()));
    const void* in_data[] = {in.data()};
    void* out_data[] = {out.data()};
    algorithm.run(prepared, {in_data, out_data, nullptr, 2, nullptr});
    auto& y = outputs[0].shape;
    std::vector<T> plain(out.size());
    for (int64_t n = 0; n < y[0]; ++n)
        for (int64_t c = 0; c < y[1]; ++c)
            for (int64_t i = 0; i < y[2] * y[3]; ++i)
                plain[size_t((n * y[1] + c) * y[2] * y[3] + i)] =
                    out[size_t(((n * blocks + c / inner) * y[2] * y[3] + i) * inner + c % inner)];
    return plain;
}

void expect_pools_in_layout(int64_t channels, std::string_view name, int64_t inner) {
    Tensor x = make_tensor(DType::f32, {2, channels, 9, 7}, shuffled(2 * channels * 9 * 7));
    ops::AdaptiveAvgPool2d::Params whole{.height = 1, .width = 1};
    for (ops::MaxPool2d::Params window : {ops::MaxPool2d::Params{{3, 3}, {2, 2}, {1, 1}},
                                          {{2, 2}, {2, 2}, {0, 0}},
                                          {{3, 3}, {1, 1}, {0, 0}},
                                          {{2, 2}, {3, 3}, {1, 1}},
                                          {{3, 3}, {1, 2}, {1, 1}}}) {
        EXPECT_THAT(pooled_in_layout(ops::MaxPool2d::info, &window, x, name, inner),
                    testing::ElementsAreArray(values_of(ops::max_pool2d(x, window))))
            << name << inner << window.kernel[0] << window.stride[1];
        ops::AvgPool2d::Params mean{window.kernel, window.stride, window.padding};
        EXPECT_THAT(pooled_in_layout(ops::AvgPool2d::info, &mean, x, name, inner),
                    testing::Pointwise(testing::FloatNear(1e-3F), values_of(ops::avg_pool2d(x, mean))))
            << name << inner << window.kernel[0] << window.stride[1];
    }
    EXPECT_THAT(pooled_in_layout(ops::AdaptiveAvgPool2d::info, &whole, x, name, inner),
                testing::Pointwise(testing::FloatNear(1e-4F), values_of(ops::adaptive_avg_pool2d(x, whole))))
        << name << inner;
}

TEST(MaxPool2d, SupportsChannelsLastBytes) {
    constexpr ops::MaxPool2d::Params window{{3, 3}, {2, 2}, {1, 1}};
    auto expect_in_layout = [&]<class T>(DType dtype, double low, std::type_identity<T>) {
        for (int64_t channels : {1, 5, 16, 33, 64, 130}) {
            std::vector<double> values;
            for (int64_t i = 0; i < channels * 9 * 7; ++i) values.push_back(low + double(i * 7919 % 256));
            Tensor x = make_tensor(dtype, {1, channels, 9, 7}, values);
            EXPECT_THAT(pooled_in_layout<T>(ops::MaxPool2d::info, &window, x, "nhwc", channels),
                        testing::ElementsAreArray(values_of(ops::max_pool2d(x, window))))
                << channels;
        }
    };
    expect_in_layout(DType::u8, 0, std::type_identity<uint8_t>());
    expect_in_layout(DType::i8, -128, std::type_identity<int8_t>());
}

TEST(Pool2d, SupportsBlockedLayouts) {
    expect_pools_in_layout(32, "nChw16c", 16);
    expect_pools_in_layout(32, "nChw8c", 8);
    // Channels that fill no vector, and some.
    for (int64_t channels : {1, 2, 3, 4, 6, 7, 8, 9, 12, 15, 17, 32})
        expect_pools_in_layout(channels, "nhwc", channels);
}

TEST(Pool2d, RejectsInvalidArguments) {
    auto message = [](auto&& call) -> std::string {
        try {
            call();
        } catch (const UserError& e) {
            return e.what();
        }
        return "";
    };
    Tensor x = counting({1, 1, 2, 2});
    EXPECT_EQ(message([&] {
                  ops::max_pool2d(x, {.kernel = {3, 3}});
              }),
              "[max_pool2d] kernel (3, 3) is larger than x of shape (1, 1, 2, 2) with padding (0, 0)");
    EXPECT_EQ(message([&] {
                  ops::avg_pool2d(x, {.kernel = {1, 1}, .padding = {1, 0}});
              }),
              "[avg_pool2d] padding must be at least 0 and smaller than the kernel (1, 1), got (1, 0)");
    EXPECT_EQ(message([&] {
                  ops::adaptive_max_pool2d(counting({2, 2}), {.height = 1});
              }),
              "[adaptive_max_pool2d] x must have shape (N, C, H, W), got (2, 2)");
}

}  // namespace
}  // namespace mge::test
