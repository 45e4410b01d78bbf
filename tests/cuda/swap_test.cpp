// SPDX-License-Identifier: Apache-2.0
// Values that wait in the host's memory while a GPU is fullest: what does not fit into a limit fits then.
#include <gtest/gtest.h>

#include <algorithm>

#include "libmge/compile/program_parts.h"
#include "libmge/mge.h"
#include "tests/cuda/emulation.h"
#include "tests/harness/check_op.h"
#include "tests/harness/other_device.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

DeviceId gpu() { return other_device().id; }

// Forwards and backwards: each step's value is read again on the way back.
constexpr int layers = 12;
constexpr int64_t elements = 1 << 18;  // 1 MiB: smaller ones do not travel

Graph there_and_back() {
    return record({{DType::f32, {elements}, {}}}, [](const Tensors& x) {
        Tensors forward{x[0]};
        for (int i = 0; i < layers; ++i) forward.push_back(ops::sin(forward.back()));
        Tensor y = ops::cos(forward.back());
        while (!forward.empty()) {
            y = ops::mul(y, ops::cos(forward.back()));
            forward.pop_back();
        }
        return Tensors{y};
    });
}

CompileOptions options(bool swaps) {
    CompileOptions o;
    o.device = gpu();
    o.level = 0;
    o.enable_memory_swap = swaps;
    o.var_sanity_check_first_run = false;
    return o;
}

Tensor given() {
    std::vector<double> values(static_cast<size_t>(elements));
    for (size_t i = 0; i < values.size(); ++i) values[i] = double(i % 97) / 97;
    return to_device(make_tensor(DType::f32, {elements}, values), gpu());
}

TEST(CudaSwap, SwapsValuesBeyondTheLimit) {
    Tensor there = given();
    Graph graph = there_and_back();
    auto stays = Program::compile(graph, options(false)), goes = Program::compile(graph, options(true));
    EXPECT_EQ(stays->memory().swapped_values, 0U);
    EXPECT_GT(goes->memory().swapped_values, 0U);

    auto expected = values_of(to_host(Executable(graph, options(false)).run(Tensors{there})[0]));
    auto& device = mge::device(gpu());
    device.release_cached();
    // Room for some of the values, not for all.
    device.set_memory_limit(device.memory().allocated + (layers - 2) * elements * sizeof(float));
    EXPECT_THROW(Executable(graph, options(false)).run(Tensors{there}), MemoryError);
    EXPECT_EQ(values_of(to_host(Executable(graph, options(true)).run(Tensors{there})[0])), expected);
    device.set_memory_limit(0);
}

// Some values come back while the steps before their readers are under way.
TEST(CudaSwap, SwapsInDuringOtherWork) {
    Tensor x = given();
    Graph graph = there_and_back();
    auto expected = values_of(to_host(Executable(graph, options(false)).run(Tensors{x})[0]));
    auto program = Program::compile(graph, options(true));
    auto& lanes = program->parts().enqueue_plan.copies;
    EXPECT_TRUE(std::ranges::any_of(lanes.copies, [&](auto& copy) {
        auto is_near = [&](size_t other) { return lanes.steps[other].copy < 0 && other + 1 >= copy.step; };
        return copy.is_upload && std::ranges::none_of(lanes.steps[copy.step].lane_waits, is_near);
    }));
    Executable executable(graph, options(true));
    for (unsigned seed = 0; seed < 6; ++seed) {
        mix_streams(seed);
        EXPECT_EQ(values_of(to_host(executable.run(Tensors{x})[0])), expected) << "seed " << seed;
    }
}

}  // namespace
}  // namespace mge::test
