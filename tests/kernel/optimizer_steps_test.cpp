// SPDX-License-Identifier: Apache-2.0
// Vectors of every length give the bits of one element at a time: so do all instruction sets (MGE_ISA).
#include "libmge/kernel/cpu/rows/optimizer_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

namespace mge::cpu {
namespace {

constexpr int64_t elements = 1037, first = 3;  // unaligned, and no multiple of any vector

using Row = std::vector<float>;

// Four operands; the last two, means of squares, are not negative.
std::array<Row, 4> some_operands() {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    std::array<Row, 4> operands;
    for (size_t k = 0; k < operands.size(); ++k)
        for (int64_t i = 0; i < elements; ++i) {
            float x = normal(random);
            operands[k].push_back(k < 2 ? x : x * x);
        }
    return operands;
}

template <class Formula>
std::vector<Row> results_of(const Formula& formula, StepRange range, bool in_place) {
    auto operands = some_operands();
    std::vector<Row> results(Formula::results, Row(size_t(elements)));
    const float* from[] = {operands[0].data(), operands[1].data(), operands[2].data(), operands[3].data()};
    float* to[Formula::results];
    for (size_t k = 0; k < results.size(); ++k) to[k] = results[k].data();
    if (in_place) to[0] = operands[0].data();
    range(&formula, from, to, first, elements);
    if (in_place) std::copy(operands[0].begin() + first, operands[0].end(), results[0].begin() + first);
    return results;
}

template <class Formula>
void expect_same_bits(const Formula& formula) {
    auto expected = results_of(formula, scalar_step<Formula>, false);
    EXPECT_EQ(results_of(formula, vector_step<Formula>(), false), expected);
    EXPECT_EQ(results_of(formula, vector_step<Formula>(), true), expected);
}

constexpr functor::MeanWeights mean{0.9F, 0.1F, 2}, square{0.999F, 0.001F, 30};
constexpr functor::LambDirection direction{mean, square, 1e-6F, 0.01F};

TEST(OptimizerSteps, VectorsMatchScalarsBitwise) {
    expect_same_bits(functor::SgdStep{0.1F, 0.01F});
    expect_same_bits(functor::MomentumStep<true, false>{0.1F, 0.9F, 0.01F});
    expect_same_bits(functor::MomentumStep<false, false>{0.1F, 0.9F, 0.01F});
    expect_same_bits(functor::MomentumStep<true, true>{0.1F, 0.9F, 0.01F});
    expect_same_bits(functor::MomentumStep<false, true>{0.1F, 0.9F, 0.01F});
    expect_same_bits(functor::AdamStep<false>{mean, square, 1e-8F, 0.01F, 0.1F});
    expect_same_bits(functor::AdamStep<true>{mean, square, 1e-8F, 0.01F, 0.1F});
    expect_same_bits(functor::AdagradStep{0.1F, 1e-10F, 0.01F});
    expect_same_bits(functor::AdadeltaStep{0.1F, 0.9F, 0.1F, 1e-6F, 0.01F});
    expect_same_bits(functor::LambMove{direction, 0.1F});
}

// The sixteen partial sums of a block, one element at a time.
double sum_of_squares(const Row& values) {
    std::array<double, 16> sums{};
    for (size_t i = size_t(first); i < values.size(); ++i)
        sums[(i - size_t(first)) % 16] += double(values[i]) * double(values[i]);
    double total = 0;
    for (double sum : sums) total += sum;
    return total;
}

TEST(OptimizerSteps, LambSumsSquaresInOneOrder) {
    auto expected = results_of(direction, scalar_step<functor::LambDirection>, false);
    auto operands = some_operands();
    std::array<Row, 2> means{Row(size_t(elements)), Row(size_t(elements))};
    const float* from[] = {operands[0].data(), operands[1].data(), operands[2].data(), operands[3].data()};
    float* to[] = {nullptr, means[0].data(), means[1].data()};
    auto squares = lamb_squares()(&direction, from, to, first, elements);
    EXPECT_EQ(squares.param, sum_of_squares(operands[0]));
    EXPECT_EQ(squares.direction, sum_of_squares(expected[0]));
    EXPECT_EQ(means[0], expected[1]);
    EXPECT_EQ(means[1], expected[2]);
}

}  // namespace
}  // namespace mge::cpu
