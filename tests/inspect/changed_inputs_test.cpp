// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/changed_inputs.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "libmge/mge.h"

namespace mge {
namespace {

Tensor ones() { return ops::full({.shape = {4, 8}, .value = 1}); }

TEST(ChangedInputs, FindsNothingInOperatorsThatReadOnly) {
    Tensor x = ones();
    changed_inputs().start();
    Tensor y = ops::sum(ops::add(x, x), {.axes = {0}});
    ops::reshape(y, {.shape = {2, 4}});
    EXPECT_EQ(changed_inputs().stop(), std::vector<std::string>{});
}

TEST(ChangedInputs, NamesTheInputThatHasChanged) {
    std::array inputs = {ones(), ones()};
    std::array outputs = {ones()};
    changed_inputs().start();
    auto noted = changed_inputs().before(inputs, outputs);
    std::memset(inputs[1].address(), 0, 4);
    OperatorRun run{ops::Add::info, nullptr, inputs, outputs, inputs[0].device(), {}, {}, noted};
    changed_inputs().ran(run);
    EXPECT_EQ(changed_inputs().stop(), std::vector<std::string>{"input 1 of add has changed"});
    EXPECT_EQ(changed_inputs().stop(), std::vector<std::string>{});
}

TEST(ChangedInputs, OmitsInputsThatTheOperatorWrites) {
    std::array inputs = {ones()};
    changed_inputs().start();
    auto noted = changed_inputs().before(inputs, inputs);
    std::memset(inputs[0].address(), 0, 4);
    changed_inputs().ran({ops::Add::info, nullptr, inputs, inputs, inputs[0].device(), {}, {}, noted});
    EXPECT_EQ(changed_inputs().stop(), std::vector<std::string>{});
}

}  // namespace
}  // namespace mge
