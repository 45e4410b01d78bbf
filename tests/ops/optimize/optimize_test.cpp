// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"

namespace mge::test {
namespace {

Tensor number(double value) { return make_tensor(DType::f32, {}, {value}); }

// The formulas in double.
Reference sgd_reference(ops::SgdStep::Params p) {
    return [p](std::span<const Tensor> in) {
        auto param = values_of(in[0]), grad = values_of(in[1]);
        std::vector<double> velocity = in[2] ? values_of(in[2]) : std::vector<double>(param.size());
        double lr = values_of(in[3])[0];
        for (size_t i = 0; i < param.size(); ++i) {
            double g = grad[i] + p.weight_decay * param[i];
            velocity[i] = p.momentum * velocity[i] + g;
            param[i] -= lr * (p.nesterov ? g + p.momentum * velocity[i] : velocity[i]);
        }
        Tensor out = make_tensor(DType::f32, in[0].shape(), param);
        if (p.momentum == 0) return Tensors{out, make_tensor(DType::f32, {0}, {})};
        return Tensors{out, make_tensor(DType::f32, in[0].shape(), velocity)};
    };
}

Reference adam_reference(ops::AdamStep::Params p) {
    return [p](std::span<const Tensor> in) {
        auto param = values_of(in[0]), grad = values_of(in[1]), mean = values_of(in[2]),
             square = values_of(in[3]);
        double step = values_of(in[4])[0] + 1, lr = values_of(in[5])[0];
        for (size_t i = 0; i < param.size(); ++i) {
            double g = grad[i] + (p.decoupled ? 0 : p.weight_decay * param[i]);
            mean[i] = p.beta1 * mean[i] + (1 - p.beta1) * g;
            square[i] = p.beta2 * square[i] + (1 - p.beta2) * g * g;
            double delta = mean[i] / (1 - std::pow(p.beta1, step)) /
                           (std::sqrt(square[i] / (1 - std::pow(p.beta2, step))) + p.epsilon);
            param[i] -= lr * (delta + (p.decoupled ? p.weight_decay * param[i] : 0));
        }
        return Tensors{
            make_tensor(DType::f32, in[0].shape(), param), make_tensor(DType::f32, in[0].shape(), mean),
            make_tensor(DType::f32, in[0].shape(), square), make_tensor(DType::f32, in[4].shape(), {step})};
    };
}

Reference lamb_reference(ops::LambStep::Params p) {
    return [p](std::span<const Tensor> in) {
        auto param = values_of(in[0]), grad = values_of(in[1]), mean = values_of(in[2]),
             square = values_of(in[3]), step = param;
        double count = values_of(in[4])[0] + 1, lr = values_of(in[5])[0], of_param = 0, of_step = 0;
        for (size_t i = 0; i < param.size(); ++i) {
            mean[i] = p.beta1 * mean[i] + (1 - p.beta1) * grad[i];
            square[i] = p.beta2 * square[i] + (1 - p.beta2) * grad[i] * grad[i];
            double m = p.bias_correction ? mean[i] / (1 - std::pow(p.beta1, count)) : mean[i];
            double s = p.bias_correction ? square[i] / (1 - std::pow(p.beta2, count)) : square[i];
            step[i] = m / (std::sqrt(s) + p.epsilon) + p.weight_decay * param[i];
            of_param += param[i] * param[i];
            of_step += step[i] * step[i];
        }
        bool adapts = (p.weight_decay != 0 || p.always_adapt) && of_param > 0 && of_step > 0;
        double trust = adapts ? std::sqrt(of_param / of_step) : 1;
        for (size_t i = 0; i < param.size(); ++i) param[i] -= lr * trust * step[i];
        return Tensors{
            make_tensor(DType::f32, in[0].shape(), param), make_tensor(DType::f32, in[0].shape(), mean),
            make_tensor(DType::f32, in[0].shape(), square), make_tensor(DType::f32, in[4].shape(), {count})};
    };
}

Reference adagrad_reference(ops::AdagradStep::Params p) {
    return [p](std::span<const Tensor> in) {
        auto param = values_of(in[0]), grad = values_of(in[1]), sum = values_of(in[2]);
        double step = values_of(in[3])[0], lr = values_of(in[4])[0];
        for (size_t i = 0; i < param.size(); ++i) {
            double g = grad[i] + p.weight_decay * param[i];
            sum[i] += g * g;
            param[i] -= lr / (1 + step * p.lr_decay) * g / std::sqrt(sum[i] + p.epsilon);
        }
        return Tensors{make_tensor(DType::f32, in[0].shape(), param),
                       make_tensor(DType::f32, in[0].shape(), sum),
                       make_tensor(DType::f32, in[3].shape(), {step + 1})};
    };
}

Reference adadelta_reference(ops::AdadeltaStep::Params p) {
    return [p](std::span<const Tensor> in) {
        auto param = values_of(in[0]), grad = values_of(in[1]), square = values_of(in[2]),
             delta = values_of(in[3]);
        double step = values_of(in[4])[0], lr = values_of(in[5])[0];
        for (size_t i = 0; i < param.size(); ++i) {
            double g = grad[i] + p.weight_decay * param[i];
            square[i] = p.rho * square[i] + (1 - p.rho) * g * g;
            double d = std::sqrt(delta[i] + p.epsilon) / std::sqrt(square[i] + p.epsilon) * g;
            param[i] -= lr * d;
            delta[i] = p.rho * delta[i] + (1 - p.rho) * d * d;
        }
        return Tensors{make_tensor(DType::f32, in[0].shape(), param),
                       make_tensor(DType::f32, in[0].shape(), square),
                       make_tensor(DType::f32, in[0].shape(), delta),
                       make_tensor(DType::f32, in[4].shape(), {step + 1})};
    };
}

TEST(SgdStep, FollowsItsFormula) {
    InputSpec lr{.shape = {}, .values = {0.1}};
    for (Shape shape : {Shape{}, Shape{0}, Shape{7}, Shape{100, 200}})
        for (bool has_velocity : {false, true})
            for (ops::SgdStep::Params p :
                 {ops::SgdStep::Params{}, ops::SgdStep::Params{.weight_decay = 0.1},
                  ops::SgdStep::Params{.momentum = 0.9, .weight_decay = 0.01},
                  ops::SgdStep::Params{.momentum = 0.5, .weight_decay = 0.01, .nesterov = true}})
                // A difference of two near numbers: the error goes with them, not with the result.
                check_op<ops::SgdStep>(
                    p, {{.shape = shape}, {.shape = shape}, {.shape = shape, .absent = !has_velocity}, lr},
                    {.looser = 4, .reference = sgd_reference(p)});
}

TEST(AdamStep, FollowsItsFormula) {
    InputSpec lr{.shape = {1}, .values = {0.01}};
    for (Shape shape : {Shape{}, Shape{0}, Shape{7}, Shape{100, 200}})
        for (double step : shape.numel() > 100 ? std::vector{1000.0} : std::vector{0.0, 1.0, 1000.0})
            for (ops::AdamStep::Params p :
                 {ops::AdamStep::Params{}, ops::AdamStep::Params{.weight_decay = 0.1},
                  ops::AdamStep::Params{.beta1 = 0.5, .beta2 = 0.9, .epsilon = 1e-3},
                  ops::AdamStep::Params{.weight_decay = 0.01, .decoupled = true}})
                check_op<ops::AdamStep>(p,
                                        {{.shape = shape},
                                         {.shape = shape},
                                         {.shape = shape},
                                         {.shape = shape, .low = 0.1, .high = 1},
                                         {.shape = {}, .values = {step}},
                                         lr},
                                        {.looser = 2, .reference = adam_reference(p)});
}

TEST(LambStep, FollowsItsFormula) {
    InputSpec lr{.shape = {1}, .values = {0.01}};
    for (Shape shape : {Shape{}, Shape{0}, Shape{7}, Shape{100, 200}})
        for (double step : shape.numel() > 100 ? std::vector{1000.0} : std::vector{0.0, 1000.0})
            for (ops::LambStep::Params p :
                 {ops::LambStep::Params{}, ops::LambStep::Params{.weight_decay = 0.1},
                  ops::LambStep::Params{.bias_correction = false, .always_adapt = true},
                  ops::LambStep::Params{.beta1 = 0.5, .beta2 = 0.9, .epsilon = 1e-3, .always_adapt = true}})
                check_op<ops::LambStep>(p,
                                        {{.shape = shape},
                                         {.shape = shape},
                                         {.shape = shape},
                                         {.shape = shape, .low = 0.1, .high = 1},
                                         {.shape = {}, .values = {step}},
                                         lr},
                                        {.looser = 2, .reference = lamb_reference(p)});
}

TEST(LambStep, TakesAPlainStepForZeroNorms) {
    Tensor zero = make_tensor(DType::f32, {2}, {0, 0}), one = make_tensor(DType::f32, {2}, {1, 1});
    auto from = [&](const Tensor& param, const Tensor& grad) {
        return values_of(ops::lamb_step(TensorList({param, grad, zero, zero, number(0), number(0.1)}),
                                        {.always_adapt = true})[0]);
    };
    EXPECT_THAT(from(zero, one), testing::Each(testing::DoubleNear(-0.1, 1e-6)));
    EXPECT_THAT(from(one, zero), testing::Each(1));
}

TEST(AdagradStep, FollowsItsFormula) {
    InputSpec lr{.shape = {1}, .values = {0.01}}, step{.shape = {}, .values = {7}};
    for (Shape shape : {Shape{}, Shape{0}, Shape{7}, Shape{100, 200}})
        for (ops::AdagradStep::Params p :
             {ops::AdagradStep::Params{}, ops::AdagradStep::Params{.lr_decay = 0.1, .weight_decay = 0.1},
              ops::AdagradStep::Params{.epsilon = 1e-3}})
            // A difference of two near numbers: the error goes with them, not with the result.
            check_op<ops::AdagradStep>(
                p, {{.shape = shape}, {.shape = shape}, {.shape = shape, .low = 0.1, .high = 1}, step, lr},
                {.looser = 4, .reference = adagrad_reference(p)});
}

TEST(AdadeltaStep, FollowsItsFormula) {
    InputSpec lr{.shape = {1}, .values = {0.01}}, step{.shape = {}, .values = {7}};
    for (Shape shape : {Shape{}, Shape{0}, Shape{7}, Shape{100, 200}}) {
        InputSpec any{.shape = shape}, positive{.shape = shape, .low = 0.1, .high = 1};
        for (ops::AdadeltaStep::Params p :
             {ops::AdadeltaStep::Params{}, ops::AdadeltaStep::Params{.weight_decay = 0.1},
              ops::AdadeltaStep::Params{.rho = 0.5, .epsilon = 1e-3}})
            // As above.
            check_op<ops::AdadeltaStep>(p, {any, any, positive, positive, step, lr},
                                        {.looser = 4, .reference = adadelta_reference(p)});
    }
}

// 1 - beta2 has to be that of the double: of a float it is off by 5e-5, which the correction of the first
// step does not know and a hundred steps of training show.
TEST(Optimize, AveragesStartWithWeightsOfDoubles) {
    Tensors inputs{number(1), number(1), number(0), number(0), number(0), number(0.1)};
    for (auto& next : {ops::adam_step(inputs), ops::lamb_step(inputs)}) {
        EXPECT_FLOAT_EQ(float(values_of(next[1])[0]), 0.1F);
        EXPECT_FLOAT_EQ(float(values_of(next[2])[0]), 0.001F);
    }
}

TEST(AdamStep, WalksDownASlope) {
    Tensor param = number(1), mean = number(0), square = number(0), step = number(0);
    for (int i = 0; i < 5; ++i) {
        auto next = ops::adam_step(TensorList({param, number(2), mean, square, step, number(0.1)}));
        param = next[0];
        mean = next[1];
        square = next[2];
        step = next[3];
    }
    EXPECT_NEAR(values_of(param)[0], 0.5, 1e-5);  // each step of a constant slope is lr
    EXPECT_EQ(values_of(step)[0], 5);
}

TEST(Optimize, NamesMismatchedShapes) {
    Tensor p = ops::full({.shape = IntList{2}}), q = ops::full({.shape = IntList{3}}), none;
    expect_user_error(ErrorClass::type, "[sgd_step] parameters must be float32, got float16", [&] {
        Tensor half = ops::full({.shape = {2}, .dtype = DType::f16});
        ops::sgd_step(half, half, none, number(1));
    });
    expect_user_error(ErrorClass::runtime,
                      "[sgd_step] grad is float32(3,), expected that of the parameter, float32(2,)",
                      [&] { ops::sgd_step(p, q, none, number(1)); });
    expect_user_error(ErrorClass::runtime, "[sgd_step] lr is float32(2,), expected one float32 number",
                      [&] { ops::sgd_step(p, p, none, p); });
    expect_user_error(ErrorClass::assertion, "[sgd_step] Nesterov momentum requires a momentum",
                      [&] { ops::sgd_step(p, p, none, number(1), {.nesterov = true}); });
    expect_user_error(ErrorClass::runtime,
                      "[adam_step] exp_avg_sq is float32(3,), expected that of the parameter, float32(2,)",
                      [&] {
                          ops::adam_step(TensorList({p, p, p, q, number(1), number(1)}));
                      });
    expect_user_error(ErrorClass::runtime,
                      "[lamb_step] grad is float32(3,), expected that of the parameter, float32(2,)", [&] {
                          ops::lamb_step(TensorList({p, q, p, p, number(1), number(1)}));
                      });
    expect_user_error(ErrorClass::runtime,
                      "[adagrad_step] square_sum is float32(3,), expected that of the parameter, float32(2,)",
                      [&] {
                          ops::adagrad_step(TensorList({p, p, q, number(1), number(1)}));
                      });
    expect_user_error(ErrorClass::runtime, "[adadelta_step] step is float32(2,), expected one float32 number",
                      [&] {
                          ops::adadelta_step(TensorList({p, p, p, p, p, number(1)}));
                      });
}

}  // namespace
}  // namespace mge::test
