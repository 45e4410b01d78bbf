// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/operator_recorder.h"

#include <gtest/gtest.h>

#include <optional>

#include "libmge/mge.h"

namespace mge {
namespace {

Tensor ones() { return ops::full({.shape = {4, 8}, .value = 1}); }

TEST(OperatorRecorder, RecordsOperatorsWithTimesAndShapes) {
    Tensor x = ones();
    operator_recorder().start();
    Tensor y = ops::sum(ops::add(x, x), {.axes = {0}});
    auto [operators, blocks] = operator_recorder().stop();
    ops::neg(x);  // no longer observed
    ASSERT_EQ(operators.size(), 2u);
    EXPECT_EQ(operators[0].name, "add");
    EXPECT_EQ(operators[1].name, "sum");
    EXPECT_EQ(operators[1].inputs.at(0).shape, (Shape{4, 8}));
    EXPECT_EQ(operators[1].outputs.at(0).shape, y.shape());
    for (auto& ran : operators) {
        EXPECT_LE(ran.begin, ran.end);
        EXPECT_GT(ran.allocated, 0u);
    }
    EXPECT_LE(operators[0].end, operators[1].begin);
}

TEST(OperatorRecorder, RecordsMemoryLifetimes) {
    Tensor x = ones();
    operator_recorder().start();
    std::optional<Tensor> short_lived = ops::add(x, x);
    Tensor kept = ops::neg(*short_lived);
    short_lived.reset();
    auto [operators, blocks] = operator_recorder().stop();
    ASSERT_EQ(blocks.size(), 2u);
    EXPECT_EQ(blocks[0].made_by, 0u);
    EXPECT_GE(blocks[0].bytes, 128u);
    EXPECT_GE(blocks[0].erased, operators[1].end);
    EXPECT_EQ(blocks[1].address, reinterpret_cast<uintptr_t>(kept.address()));
    EXPECT_EQ(blocks[1].erased, -1);
}

TEST(OperatorRecorder, IgnoresMemoryOfAnEarlierRecording) {
    Tensor x = ones();
    operator_recorder().start();
    std::optional<Tensor> old = ops::add(x, x);
    operator_recorder().stop();
    operator_recorder().start();
    Tensor y = ops::neg(x);
    old.reset();
    auto [operators, blocks] = operator_recorder().stop();
    ASSERT_EQ(blocks.size(), 1u);
    EXPECT_EQ(blocks[0].erased, -1);
}

}  // namespace
}  // namespace mge
