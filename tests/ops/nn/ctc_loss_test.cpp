// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"

namespace mge::test {
namespace {

InputSpec ints(const Shape& shape, const std::vector<double>& values) {
    return {.shape = shape, .dtype = DType::i32, .values = values};
}
const InputSpec probabilities{.shape = {5, 3, 4}, .low = 0.2, .high = 1};

TEST(CtcLoss, HasItsGradient) {
    for (InputSpec labels : {ints({3, 3}, {1, 1, 2, 3, 0, 0, 0, 0, 0}), ints({4}, {1, 1, 2, 3})}) {
        CheckOptions options{.reduction = 64};
        check_op<ops::CtcLoss>({}, {probabilities, ints({3}, {5, 4, 3}), labels, ints({3}, {3, 1, 0})},
                               options);
        check_op<ops::CtcLossBackward>(
            {}, {probabilities, ints({3}, {5, 4, 3}), labels, ints({3}, {3, 1, 0}), {.shape = {3}}}, options);
    }
    check_op<ops::CtcLoss>(
        {.blank = 3},
        {probabilities, ints({3}, {5, 5, 5}), ints({3, 2}, {0, 1, 2, 2, 1, 0}), ints({3}, {2, 2, 2})},
        {.reduction = 64});
}

// Sums over all sequences of classes.
double probability_of(const std::vector<double>& x, int64_t steps, int64_t classes,
                      const std::vector<int64_t>& label, int64_t blank) {
    std::vector<int64_t> sequence;
    std::function<double(double)> sum = [&](double probability) -> double {
        if (int64_t(sequence.size()) == steps) {
            std::vector<int64_t> spelled;
            for (size_t t = 0; t < sequence.size(); ++t)
                if (sequence[t] != blank && (t == 0 || sequence[t] != sequence[t - 1]))
                    spelled.push_back(sequence[t]);
            return spelled == label ? probability : 0;
        }
        double total = 0;
        for (int64_t c = 0; c < classes; ++c) {
            double here = x[sequence.size() * size_t(classes) + size_t(c)];
            sequence.push_back(c);
            total += sum(probability * here);
            sequence.pop_back();
        }
        return total;
    };
    return sum(1);
}

TEST(CtcLoss, IsTheSumOverAllSequences) {
    std::vector<double> x(15);
    for (size_t i = 0; i < x.size(); ++i) x[i] = double(float(0.1 + double(i * 7 % 11) / 11));
    for (std::vector<int64_t> label : {std::vector<int64_t>{}, {1}, {1, 1}, {2, 1}, {1, 2, 1}}) {
        std::vector<double> as_values(label.begin(), label.end());
        auto length = double(label.size());
        Tensor loss = ops::ctc_loss(make_tensor(DType::f32, {5, 1, 3}, x), make_tensor(DType::i32, {1}, {5}),
                                    make_tensor(DType::i32, {int64_t(label.size())}, as_values),
                                    make_tensor(DType::i32, {1}, {length}));
        EXPECT_NEAR(values_of(loss)[0], -std::log(probability_of(x, 5, 3, label, 0)), 1e-5);
    }
}

TEST(CtcLoss, IsFiniteForImpossibleTargets) {
    // Three steps for the two equal classes and the blank between them, of which there are two.
    std::vector<double> x{0.75, 0.25, 0.75, 0.25};
    Tensor two = make_tensor(DType::i32, {1}, {2}), label = make_tensor(DType::i32, {2}, {1, 1});
    double smallest = double(std::numeric_limits<float>::min());
    // To the last class from itself and the blank in the middle; to the last blank from itself and the last
    // class.
    double expected = -std::log(2 * smallest * 0.25 + 2 * smallest * 0.75);
    auto loss = [&](const Tensor& t) { return ops::ctc_loss(t, two, label, two); };
    EXPECT_NEAR(values_of(loss(make_tensor(DType::f32, {2, 1, 2}, x)))[0], expected, 1e-4);
}

TEST(CtcLoss, HasGradientOfLateStarts) {
    InputSpec x{.shape = {2, 2, 3}, .low = 0.2, .high = 1};
    CheckOptions options{.reduction = 64};
    check_op<ops::CtcLoss>({}, {x, ints({2}, {2, 2}), ints({2, 2}, {1, 1, 1, 2}), ints({2}, {2, 2})},
                           options);
}

// A label that is the blank's class may follow another without a blank between them.
TEST(CtcLoss, HasAClassOfTheBlankAmongLabels) {
    Tensor x = make_tensor(DType::f32, {2, 1, 3}, {0.5, 0.3, 0.2, 0.1, 0.6, 0.3});
    Tensor two = make_tensor(DType::i32, {1}, {2});
    Tensor loss = ops::ctc_loss(x, two, make_tensor(DType::i32, {2}, {1, 0}), two);
    double smallest = double(std::numeric_limits<float>::min());
    // To the last label from the first, itself and the blank between; to the last blank from late starts.
    EXPECT_NEAR(values_of(loss)[0], -std::log((0.3 + 2 * smallest) * 0.1 + 2 * smallest * 0.1), 1e-5);
    InputSpec random{.shape = {4, 2, 3}, .low = 0.2, .high = 1};
    check_op<ops::CtcLoss>({.blank = 1},
                           {random, ints({2}, {4, 3}), ints({2, 2}, {2, 1, 1, 0}), ints({2}, {2, 2})},
                           {.reduction = 64});
}

TEST(CtcLoss, RejectsInvalidArguments) {
    Tensor x = make_tensor(DType::f32, {2, 1, 2}, {0.5, 0.5, 0.5, 0.5});
    Tensor one = make_tensor(DType::i32, {1}, {1}), three = make_tensor(DType::i32, {1}, {3});
    expect_user_error(ErrorClass::assertion, "[ctc_loss] length of sample 0 must be in [0, 2], got 3",
                      [&] { ops::ctc_loss(x, three, one, one); });
    expect_user_error(ErrorClass::assertion, "[ctc_loss] label of sample 0 must be in [0, 1], got 3",
                      [&] { ops::ctc_loss(x, one, three, one); });
    expect_user_error(ErrorClass::assertion, "[ctc_loss] label length of sample 0 must be in [0, 1], got 3",
                      [&] { ops::ctc_loss(x, one, one, three); });
}

}  // namespace
}  // namespace mge::test
