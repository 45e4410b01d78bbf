// SPDX-License-Identifier: Apache-2.0
#include "tests/harness/execution_modes.h"

#include <gtest/gtest.h>

#include "libmge/compile/program.h"
#include "libmge/graph/builder.h"

namespace mge::test {
namespace {

void expect_all_close(const Tensors& got, const Tensors& expected, const CheckOptions& options,
                      const char* mode) {
    ASSERT_EQ(got.size(), expected.size()) << mode;
    for (size_t i = 0; i < got.size(); ++i)
        if (expected[i])
            expect_close(got[i], expected[i], options.reduction, options.looser, text(mode, ", output ", i));
}

// The operator as a graph of one node. Host values stay constants; of the other inputs, the first
// `variable_inputs` are inputs of the graph and the rest are constants too, so that kernels may pack them.
Tensors run_compiled(const OpInfo& op, const void* params, std::span<const Tensor> inputs,
                     size_t variable_inputs) {
    GraphBuilder builder;
    Tensors operands, fed;
    for (size_t i = 0; i < inputs.size(); ++i) {
        bool is_variable =
            inputs[i] && input_info(op, i).kind != InputKind::host && fed.size() < variable_inputs;
        operands.push_back(is_variable ? builder.input(inputs[i].spec(), text("x", i)) : inputs[i]);
        if (is_variable) fed.push_back(inputs[i]);
    }
    builder.set_outputs(builder.apply(op, params, operands));
    Graph graph = builder.take();
    verify(graph);
    Executable executable(std::move(graph), {});
    executable.run(fed);  // a second run must not see the traces of the first
    return executable.run(fed);
}

}  // namespace

void check_execution_modes(const OpInfo& op, const void* params, std::span<const Tensor> inputs,
                           const Tensors& expected, const CheckOptions& options) {
    expect_all_close(eager_interpreter().apply(op, params, inputs), expected, options, "eager");
    expect_all_close(run_compiled(op, params, inputs, inputs.size()), expected, options, "compiled");
    if (inputs.size() > 1)
        expect_all_close(run_compiled(op, params, inputs, 1), expected, options, "compiled with constants");
}

}  // namespace mge::test
