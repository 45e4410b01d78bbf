// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "libmge/mge.h"
#include "libmge/ops/quantize/fake_quantize.h"
#include "tests/harness/check_op.h"

namespace mge::test {
namespace {

using ops::ScaleLearning;
using testing::ElementsAre;

Tensor numbers(const std::vector<float>& values) {
    return tensor_of<float>({int64_t(values.size())}, values);
}

TEST(FakeQuantize, AgreesWithItsReference) {
    for (Shape shape : {Shape{0}, Shape{1}, Shape{7}, Shape{3, 31}, Shape{2, 30000}})
        for (auto learning : {ScaleLearning::none, ScaleLearning::by_rounded, ScaleLearning::by_exact}) {
            InputSpec x{.shape = shape, .low = -20, .high = 20}, scale{.shape = {1}, .values = {0.1}};
            check_op<ops::FakeQuantize>({.learning = learning}, {x, scale}, {.gradient = false});
            check_op<ops::FakeQuantize>({.lower = 0, .upper = 15, .learning = learning},
                                        {x, scale, {.shape = {1}, .values = {7}}}, {.gradient = false});
        }
    for (Shape scale :
         {Shape{4, 1, 1}, Shape{3, 1}, Shape{2}, Shape{4, 1, 2}, Shape{4, 3, 1}, Shape{4, 3, 2}})
        check_op<ops::FakeQuantize>({}, {{.shape = {4, 3, 2}}, {.shape = scale, .low = 0.1}},
                                    {.gradient = false});
}

TEST(FakeQuantize, ScalesBroadcast) {
    Tensor x = tensor_of<float>({2, 2, 2}, std::vector<float>(8, 1.2f));
    Tensor scale = tensor_of<float>({2, 1, 2}, {1, 0.5f, 2, 0.25f});
    EXPECT_THAT(values_of(ops::fake_quantize(x, scale)), ElementsAre(1, 1, 1, 1, 2, 1.25, 2, 1.25));
}

TEST(FakeQuantize, KeepsNan) {
    EXPECT_THAT(values_of(ops::fake_quantize(numbers({NAN}), numbers({1}))), ElementsAre(testing::IsNan()));
}

// For x and the scale.
Tensors gradients(const Tensor& x, const Tensor& scale, const Tensor& zero,
                  const ops::FakeQuantize::Params& p) {
    Tape tape;
    Tensor watched[] = {tape.attach(x), tape.attach(scale)};
    tape.start();
    Tensor y = ops::fake_quantize(watched[0], watched[1], zero, p);
    return tape.backward({&y, 1}, std::array{Tensor()});
}

// t = -0.75, 1.25, -2.625, and two beyond the range.
TEST(FakeQuantize, PassesGradientsInsideTheRange) {
    Tensor x = numbers({-0.375f, 0.625f, -1.3125f, 50, -50}), scale = numbers({0.5f});
    ops::FakeQuantize::Params p{.lower = -8, .upper = 7};
    Tensors g = gradients(x, scale, {}, p);
    EXPECT_THAT(values_of(g[0]), ElementsAre(1, 1, 1, 0, 0));
    EXPECT_FALSE(g[1]);
    // From rounding: -0.25, -0.25, -0.375; from the bounds: 7, -8.
    for (auto learning : {ScaleLearning::by_rounded, ScaleLearning::by_exact}) {
        p.learning = learning;
        g = gradients(x, scale, {}, p);
        EXPECT_THAT(values_of(g[0]), ElementsAre(1, 1, 1, 0, 0));
        EXPECT_THAT(values_of(g[1]), ElementsAre(-1.875));
    }
}

// 7.25 rounds to 7 and is out of range before; 7.5 rounds to 8.
TEST(FakeQuantize, ComparesRoundedOrExactValuesWithTheRange) {
    Tensor x = numbers({7.25f, 7.5f}), scale = numbers({1});
    ops::FakeQuantize::Params p{.lower = -8, .upper = 7, .learning = ScaleLearning::by_rounded};
    EXPECT_THAT(values_of(gradients(x, scale, {}, p)[0]), ElementsAre(1, 0));
    p.learning = ScaleLearning::by_exact;
    EXPECT_THAT(values_of(gradients(x, scale, {}, p)[0]), ElementsAre(0, 0));
    p.learning = ScaleLearning::none;
    EXPECT_THAT(values_of(gradients(x, scale, {}, p)[0]), ElementsAre(1, 0));
}

TEST(FakeQuantize, FactorScalesTheGradientOfScale) {
    ops::FakeQuantize::Params p{.learning = ScaleLearning::by_exact};
    Tape tape;
    Tensor watched[] = {tape.attach(numbers({1.25f})), tape.attach(numbers({1}))};
    tape.start();
    Tensor y = ops::fake_quantize(watched[0], watched[1], numbers({0}), numbers({10}), p);
    Tensors g = tape.backward({&y, 1}, std::array{Tensor()});
    EXPECT_THAT(values_of(g[0]), ElementsAre(1));
    EXPECT_THAT(values_of(g[1]), ElementsAre(-2.5));
}

}  // namespace
}  // namespace mge::test
