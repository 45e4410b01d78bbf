// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "libmge/kernel/select.h"
#include "libmge/mge.h"
#include "tests/harness/check_op.h"
#include "tests/harness/run_candidate.h"

namespace mge::test {
namespace {

InputSpec per_channel(int64_t channels, double low = -2, double high = 2) {
    return {.shape = {1, channels, 1, 1}, .low = low, .high = high, .dtype = DType::f32};
}

// Statistics over thousands of elements. The running ones have no gradient: that of the other results is
// tested below.
const CheckOptions options{.dtypes = float_types, .reduction = 4096, .gradient = false};
const CheckOptions backward_options{.dtypes = float_types, .reduction = 4096};

// Calls check(outputs, name) for all candidates but the reference, on two threads.
template <class Op, class Fn>
void for_candidates(const typename Op::Params& params, const Tensors& inputs, Fn&& check) {
    TensorSpecs specs;
    for (auto& t : inputs) specs.push_back(t.spec());
    TensorSpecs results = Op::infer(params, specs);
    Problem problem{Op::name, &params, Op::info.fields, specs, results, 0, default_device(), 2};
    for (auto& named : list_candidates(find_kernels(Op::info, default_device()), problem)) {
        if (named.candidate.attributes.naive) continue;
        check(run_candidate(named, problem, inputs), named.candidate.name);
    }
}

TEST(BatchNorm, AgreesWithItsReference) {
    for (Shape x : {Shape{2, 3, 4, 5}, Shape{3, 1, 1, 1}, Shape{1, 5, 7, 1}, Shape{4, 2}, Shape{2, 2, 33, 31},
                    Shape{0, 3, 2, 2}, Shape{2, 3, 4, 8}})
        for (bool training : {true, false})
            check_op<ops::BatchNorm>({.training = training, .momentum = 0.75, .epsilon = 1e-2},
                                     {{.shape = x},
                                      per_channel(x[1]),
                                      per_channel(x[1]),
                                      per_channel(x[1]),
                                      per_channel(x[1], 0.5, 2)},
                                     options);
}

// The normalised x is 0 for any size: y is the bias, and no gradient is propagated.
TEST(BatchNorm, OneElementPerChannelGivesBias) {
    Tensor x = tensor_of<float>({1, 3, 1, 1}, {1234.567F, -3.3F, 0.1F}),
           dy = tensor_of<float>({1, 3, 1, 1}, {7, 3, 0.3F});
    Tensor scale = tensor_of<float>({3}, {1.7F, 3.1F, 0.9F}),
           bias = tensor_of<float>({3}, {0.1F, 0.2F, -0.3F});
    for_candidates<ops::BatchNorm>(
        {}, {x, scale, bias, bias, scale}, [&](const Tensors& out, const std::string& name) {
            EXPECT_EQ(values_of(ops::reshape(out[0], {.shape = {3}})), values_of(bias)) << name;
            for_candidates<ops::BatchNormBackward>(
                {}, {x, dy, scale, out[3], out[4]}, [&](const Tensors& grads, const std::string& backward) {
                    EXPECT_THAT(values_of(grads[0]), testing::Each(0)) << backward;
                });
        });
}

// The variance is small beside the square of the mean.
TEST(BatchNorm, KeepsDigitsFarFromZero) {
    std::vector<double> values(2 * 2 * 64);
    for (size_t i = 0; i < values.size(); ++i) values[i] = 1000 + double(i * 37 % 64) / 64;
    Tensor x = make_tensor(DType::f32, {2, 2, 8, 8}, values);
    check_op<ops::BatchNorm>({.epsilon = 1e-5},
                             {{.shape = x.shape(), .values = values},
                              per_channel(2),
                              per_channel(2),
                              per_channel(2),
                              per_channel(2, 0.5, 2)},
                             // x - mean has three digits less than x.
                             {.reduction = 4096, .looser = 30, .gradient = false});
}

TEST(BatchNormBackward, AgreesWithItsReference) {
    for (Shape x :
         {Shape{2, 3, 4, 5}, Shape{1, 5, 7, 1}, Shape{4, 2}, Shape{2, 2, 33, 31}, Shape{2, 3, 4, 8}})
        for (bool training : {true, false})
            check_op<ops::BatchNormBackward>(
                {.training = training},
                {{.shape = x}, {.shape = x}, per_channel(x[1]), per_channel(x[1]), per_channel(x[1], 0.5, 2)},
                backward_options);
}

TEST(BatchNorm, MatchesTheFormula) {
    Tensor x = tensor_of<float>({2, 2}, {1, -2, 3, 2});
    Tensor scale = tensor_of<float>({2}, {1, 10}), bias = tensor_of<float>({2}, {0, 1});
    Tensor mean = tensor_of<float>({2}, {1, 0}), var = tensor_of<float>({2}, {4, 1});
    Tensors trained = ops::batch_norm(x, scale, bias, mean, var, {.momentum = 0.5, .epsilon = 0});
    EXPECT_THAT(values_of(trained[0]), testing::ElementsAre(-1, -9, 1, 11));
    EXPECT_THAT(values_of(trained[1]), testing::ElementsAre(1.5, 0));
    EXPECT_THAT(values_of(trained[2]), testing::ElementsAre(3, 4.5));  // unbiased variances 2 and 8
    Tensors run = ops::batch_norm(x, scale, bias, mean, var, {.training = false, .epsilon = 0});
    EXPECT_THAT(values_of(run[0]), testing::ElementsAre(0, -19, 1, 21));
    EXPECT_THAT(values_of(run[1]), testing::ElementsAre(1, 0));
}

Tensor random_tensor(const Shape& shape, std::mt19937& random) {
    std::normal_distribution<double> normal;
    std::vector<double> values(static_cast<size_t>(shape.numel()));
    for (double& value : values) value = normal(random);
    return make_tensor(DType::f32, shape, values);
}

// Σ weights·outputs
double weighted_output(const Tensors& in, const Tensors& weights, bool training) {
    Tensors out = ops::batch_norm(in[0], in[1], in[2], in[3], in[4], {.training = training, .epsilon = 0.1});
    double sum = 0;
    for (size_t k = 0; k < out.size(); ++k) {
        if (!weights[k]) continue;
        auto y = values_of(out[k]), w = values_of(weights[k]);
        for (size_t i = 0; i < y.size(); ++i) sum += y[i] * w[i];
    }
    return sum;
}

TEST(BatchNorm, HasGradientsOfResultAndSavedStatistics) {
    constexpr double step = 1e-2;
    std::mt19937 random(7);
    for (bool training : {true, false}) {
        Tensors in{random_tensor({3, 2, 2, 2}, random), random_tensor({1, 2, 1, 1}, random),
                   random_tensor({1, 2, 1, 1}, random), random_tensor({1, 2, 1, 1}, random),
                   tensor_of<float>({1, 2, 1, 1}, {0.5, 2})};
        Tensors weights{random_tensor({3, 2, 2, 2}, random), Tensor(), Tensor(), Tensor(), Tensor()};
        if (training) weights[3] = random_tensor({2}, random), weights[4] = random_tensor({2}, random);
        ops::BatchNorm::Params params{.training = training, .epsilon = 0.1};
        Tensors out = ops::batch_norm(in[0], in[1], in[2], in[3], in[4], params);
        const bool needed[] = {true, true, true, false, false};
        Tensors grads =
            ops::BatchNorm::info.gradient({ops::BatchNorm::info, &params, in, out, weights, needed});
        for (size_t i = 0; i < 3; ++i) {
            auto analytic = values_of(grads[i]), values = values_of(in[i]);
            ASSERT_EQ(grads[i].shape(), in[i].shape());
            for (size_t j = 0; j < values.size(); ++j) {
                auto at = [&](double offset) {
                    Tensors changed = in;
                    auto moved = values;
                    moved[j] += offset;
                    changed[i] = make_tensor(DType::f32, in[i].shape(), moved);
                    return weighted_output(changed, weights, training);
                };
                EXPECT_NEAR(analytic[j], (at(step) - at(-step)) / (2 * step), 5e-3) << i << ", element " << j;
            }
        }
    }
}

TEST(BatchNorm, RejectsInvalidArguments) {
    Tensor x = tensor_of<float>({1, 2}, {1, 2}), two = tensor_of<float>({2}, {1, 1});
    Tensor one = tensor_of<float>({1}, {1});
    try {
        ops::batch_norm(x, two, two, one, two);
        FAIL();
    } catch (const UserError& e) {
        EXPECT_STREQ(e.what(),
                     "[batch_norm] running_mean must have one element for each of the 2 channels of x, got "
                     "shape (1,)");
    }
}

}  // namespace
}  // namespace mge::test
