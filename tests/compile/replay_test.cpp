// SPDX-License-Identifier: Apache-2.0
// Programs from given algorithms, and reports about values.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/mge.h"

namespace mge {
namespace {

using testing::HasSubstr;

Graph sample_graph() {
    GraphBuilder builder;
    Tensor x = builder.input({DType::f32, {4, 64}, {}}, "x");
    InterpreterScope scope(builder);
    Tensor w = empty_tensor({DType::f32, {64, 32}, {}});
    std::fill_n(w.data<float>(), 64 * 32, 0.5f);
    Tensor y = ops::softmax(ops::matmul(x, w));
    builder.set_outputs({ops::reshape(y, {.shape = {2, 64}})});
    return builder.take();
}

std::vector<std::string> algorithms_of(const Program& program) {
    std::vector<std::string> names;
    for (auto& step : program.steps()) names.push_back(step.algorithm);
    return names;
}

std::string error_of(const CompileOptions& options) {
    try {
        Program::compile(sample_graph(), options);
    } catch (const DeviceError& e) {
        return e.what();
    }
    ADD_FAILURE() << "no error";
    return {};
}

TEST(Replay, UsesGivenAlgorithms) {
    CompileOptions reference;
    reference.select.reference = true;
    auto slow = Program::compile(sample_graph(), reference);
    for (auto& name : algorithms_of(*slow)) EXPECT_EQ(name, "reference");

    CompileOptions replayed;
    replayed.algorithms = algorithms_of(*slow);
    auto again = Program::compile(sample_graph(), replayed);
    EXPECT_EQ(algorithms_of(*again), algorithms_of(*slow));
    for (auto& step : again->steps()) EXPECT_EQ(step.source, ChoiceSource::plan);
    EXPECT_NE(algorithms_of(*Program::compile(sample_graph(), {})), algorithms_of(*slow));
}

TEST(Replay, NamesTheStepAndTheReason) {
    CompileOptions options;
    options.algorithms = {"reference", "no_such"};
    EXPECT_THAT(error_of(options),
                HasSubstr("step 1 (softmax 'softmax#1'): algorithm 'no_such' cannot compute"));
    EXPECT_THAT(error_of(options), HasSubstr("it is not offered here; there are: "));
    options.algorithms = {"reference"};
    EXPECT_THAT(error_of(options), HasSubstr("algorithms for 1 step are given, the program here has 2"));
}

TEST(Reports, ListPortsViewsAndWorkspaces) {
    auto program = Program::compile(sample_graph(), {});
    auto& output = program->outputs().at(0);
    ASSERT_NE(output.value, no_value);
    EXPECT_EQ(program->values()[size_t(output.value)].spec, output.spec);
    EXPECT_EQ(program->values()[size_t(output.value)].view_of, program->steps().back().outputs[0])
        << "the reshape has no step";
    EXPECT_EQ(program->values()[size_t(program->inputs()[0].value)].name, "x");
    EXPECT_EQ(program->memory().weights, 64u * 32 * 4);
    EXPECT_EQ(program->memory().made_weights, 0u);
    for (auto& step : program->steps())
        EXPECT_LE(step.workspace ? step.workspace_offset + step.workspace : 0, program->memory().plan);
}

}  // namespace
}  // namespace mge
