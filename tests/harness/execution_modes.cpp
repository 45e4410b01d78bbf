// SPDX-License-Identifier: Apache-2.0
#include "tests/harness/execution_modes.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>

#include "libmge/compile/program.h"
#include "libmge/device/device.h"
#include "libmge/model/model.h"
#include "libmge/op/backend.h"
#include "tests/harness/other_device.h"

namespace mge::test {
namespace {

void expect_all_close(const Tensors& got, const Tensors& expected, const CheckOptions& options,
                      const std::string& mode) {
    ASSERT_EQ(got.size(), expected.size()) << mode;
    for (size_t i = 0; i < got.size(); ++i)
        if (expected[i])
            expect_close(got[i], expected[i], options.reduction, options.looser, text(mode, ", output ", i));
}

// The operator as a graph of one node, and the tensors that go in.
struct OneNode {
    Graph graph;
    Tensors inputs;
};
OneNode make_graph(const OpInfo& op, const void* params, std::span<const Tensor> inputs) {
    OneNode result;
    auto resolved = op.params.copy(params);
    std::vector<ValueId> values;
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (input_info(op, i).kind == InputKind::host) {
            resolved = op.resolve(params, inputs.subspan(i));
            break;
        }
        if (inputs[i]) result.inputs.push_back(inputs[i]);
        values.push_back(inputs[i] ? result.graph.add_input(inputs[i].spec(), text("x", i)) : no_value);
    }
    NodeId node = result.graph.add_node(op, resolved, values, "node");
    result.graph.set_outputs(result.graph.node(node).outputs);
    return result;
}

Graph written_and_read(const Graph& graph) {
    std::ostringstream stream;
    Model model;
    model.graph = graph;
    write_model(stream, model);
    // Weights are used in place, so the bytes must be aligned as in a mapped file.
    std::string bytes = std::move(stream).str();
    std::shared_ptr<std::byte[]> memory(
        static_cast<std::byte*>(std::aligned_alloc(64, (bytes.size() + 63) / 64 * 64)), std::free);
    std::memcpy(memory.get(), bytes.data(), bytes.size());
    return read_model({memory.get(), bytes.size()}, memory, "written by the harness").graph;
}

}  // namespace

bool is_there(const OpInfo& op) {
    try {
        find_kernels(op, other_device().id);
        return true;
    } catch (const DeviceError&) {
        return false;
    }
}

void report_run(const OpInfo& op, std::string_view candidate, Specs inputs, Specs outputs) {
    if (!other_device().ran) return;
    if (!inputs.empty() && !inputs[0].is_absent()) other_device().ran(op, candidate, inputs[0].dtype);
    other_device().ran(op, candidate, outputs[0].dtype);
}

Tensors on_other_device(const OpInfo& op, std::span<const Tensor> tensors) {
    Tensors moved;
    for (size_t i = 0; i < tensors.size(); ++i)
        moved.push_back(input_info(op, i).kind == InputKind::host ? tensors[i]
                                                                  : to_device(tensors[i], other_device().id));
    return moved;
}

Tensors on_host(const Tensors& tensors) {
    Tensors moved;
    for (auto& tensor : tensors) moved.push_back(to_host(tensor));
    return moved;
}

void check_execution_modes(const OpInfo& op, const void* params, std::span<const Tensor> inputs,
                           const Tensors& expected, const CheckOptions& options) {
    expect_all_close(eager_interpreter().apply(op, params, inputs), expected, options, "eager");
    auto [graph, graph_inputs] = make_graph(op, params, inputs);
    verify(graph);
    CompileOptions compile;
    compile.verify_passes = true;
    expect_all_close(Executable(graph, compile).run(graph_inputs), expected, options, "compiled");
    expect_all_close(Executable(written_and_read(graph), compile).run(graph_inputs), expected, options,
                     "reloaded");
    if (!is_there(op)) return;
    InterpreterScope eager(eager_interpreter());
    expect_all_close(on_host(eager_interpreter().apply(op, params, on_other_device(op, inputs))), expected,
                     options, text("eager on ", other_device().name));
    // Operators that determine their shape at run time support no other way.
    if (op.traits.runtime_shape)
        report_run(op, find_kernels(op, other_device().id).front().name, specs_of(inputs),
                   specs_of(expected));
    compile.device = other_device().id;
    Tensors moved;
    for (auto& input : graph_inputs) moved.push_back(to_device(input, compile.device));
    expect_all_close(on_host(Executable(graph, compile).run(moved)), expected, options,
                     text("compiled for ", other_device().name));
}

}  // namespace mge::test
