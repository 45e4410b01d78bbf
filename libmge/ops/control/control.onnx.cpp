// SPDX-License-Identifier: Apache-2.0
// Branches and loops. The graphs that operators hold see nothing but their inputs; those of ONNX see the
// names outside as well, so what no step changes need not be handed in.

#include "libmge/base/joined.h"
#include "libmge/graph/inner_graph.h"
#include "libmge/model/export/onnx/parts.h"
#include "libmge/model/export/onnx/translation.h"
#include "libmge/op/op.h"
#include "libmge/ops/control/cond.h"
#include "libmge/ops/control/scan.h"
#include "libmge/ops/control/while_loop.h"

namespace mge::to_onnx {
namespace {

struct Results {
    Operands operands;
    TensorSpecs specs;
};

// The results of the operator's graph of that name for the operands, as nodes of `writer`.
Results translated(Site& s, GraphWriter& writer, std::string_view parameter, const SubgraphRef& graph,
                   const TensorSpecs& inputs, const Operands& operands) {
    OpenInputs shapes;
    for (auto& spec : inputs) shapes.shapes.push_back(spec.shape);
    Translation translation(writer, prepare_graph(graph_of(graph)), shapes,
                            text(s.label(), '/', parameter, '/'));
    Operands outputs = translation.run_on(operands);
    auto problems = joined(translation.problems(), "; ");
    if (!problems.empty()) unsupported("inside of it ", problems);
    return {outputs, translation.output_specs()};
}

// One bool without axes: the element is not zero.
Operand truth(GraphWriter& writer, const Operand& x) {
    Operand flat = writer.emit("Reshape", {x, writer.constant(integer_tensor({}))}, {}, 1)[0];
    return writer.emit("Cast", {flat}, {{"to", type_number(DType::boolean)}}, 1)[0];
}

Operands from(const Operands& operands, size_t begin) {
    return {operands.begin() + ptrdiff_t(begin), operands.end()};
}

Operands joined(Operands a, const Operands& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

Operands export_cond(Site& s) {
    auto& p = s.params<ops::Cond>();
    auto branch = [&](std::string_view parameter, const SubgraphRef& graph) {
        GraphWriter writer = s.inner_writer(parameter);
        auto [operands, specs] = translated(s, writer, parameter, graph, s.specs(1), s.all(1));
        for (size_t i = 0; i < operands.size(); ++i) writer.add_output(operands[i], specs[i]);
        return std::make_shared<GraphRecord>(writer.finish());
    };
    return s.emit_many("If", {truth(s.writer(), s.in(0))},
                       {{"then_branch", branch("then_graph", p.then_graph)},
                        {"else_branch", branch("else_graph", p.else_graph)}},
                       s.node.outputs.size());
}

// ONNX asks the condition of each next step within the step before. The number of steps is carried along.
Operands export_while_loop(Site& s) {
    auto& p = s.params<ops::WhileLoop>();
    if (p.keep_steps) unsupported("it keeps its steps");
    auto carried = size_t(p.carried);
    TensorSpecs specs = s.specs(0);
    TensorSpec step_spec{DType::i32, {1}, {}};
    GraphWriter body = s.inner_writer("body");
    body.add_input("step", {DType::i64, {}, {}});
    body.add_input("goes_on", {DType::boolean, {}, {}});
    Operand steps = body.add_input("steps", step_spec);
    Operands now;
    for (size_t i = 0; i < carried; ++i) now.push_back(body.add_input("carried", specs[i]));
    Operands others = from(s.all(), carried);
    Operands next = translated(s, body, "body", p.body, specs, joined(now, others)).operands;
    Operand should_continue =
        translated(s, body, "condition", p.condition, specs, joined(next, others)).operands[0];
    Operand one = body.constant(number_tensor(1, DType::i32).with_shape({1}));
    body.add_output(truth(body, should_continue), {DType::boolean, {}, {}});
    body.add_output(body.emit("Add", {steps, one}, {}, 1)[0], step_spec);
    for (size_t i = 0; i < carried; ++i) body.add_output(next[i], specs[i]);

    Operand begins = translated(s, s.writer(), "condition", p.condition, specs, s.all()).operands[0];
    Operands inputs{p.max_steps > 0 ? s.integer(p.max_steps) : Operand(), truth(s.writer(), begins),
                    s.constant(number_tensor(0, DType::i32).with_shape({1}))};
    for (size_t i = 0; i < carried; ++i) inputs.push_back(s.in(i));
    Operands results =
        s.emit_many("Loop", inputs, {{"body", std::make_shared<GraphRecord>(body.finish())}}, 1 + carried);
    return joined(from(results, 1), {results[0]});
}

Operands export_scan(Site& s) {
    auto& p = s.params<ops::Scan>();
    if (p.keep_steps) unsupported("it keeps its steps");
    auto carried = size_t(p.carried), sliced = size_t(p.sliced);
    TensorSpecs arguments = ops::scan_arguments(p, s.specs(0));
    GraphWriter body = s.inner_writer("body");
    Operands now, inputs;
    for (size_t i = 0; i < carried + sliced; ++i) {
        now.push_back(body.add_input(i < carried ? "carried" : "slice", arguments[i]));
        inputs.push_back(s.in(i));
    }
    // Something has to be sliced.
    if (sliced == 0) {
        body.add_input("slice", {DType::i64, {}, {}});
        inputs.push_back(s.integers(IntList(size_t(p.length))));
    }
    auto [results, specs] =
        translated(s, body, "body", p.body, arguments, joined(now, from(s.all(), carried + sliced)));
    for (size_t i = 0; i < results.size(); ++i) body.add_output(results[i], specs[i]);
    size_t slices = std::max<size_t>(sliced, 1);
    Attributes attributes{{"body", std::make_shared<GraphRecord>(body.finish())},
                          {"num_scan_inputs", int64_t(slices)}};
    if (p.reverse) {
        attributes.push_back({"scan_input_directions", IntList(slices, 1)});
        attributes.push_back({"scan_output_directions", IntList(results.size() - carried, 1)});
    }
    return s.emit_many("Scan", inputs, attributes, results.size());
}

}  // namespace

ExportRows control_rows() {
    static constexpr ExportRow rows[] = {
        {&ops::Cond::info, export_cond, "If"},
        {&ops::Scan::info, export_scan, "Scan"},
        {&ops::WhileLoop::info, export_while_loop, "Loop"},
    };
    return rows;
}

}  // namespace mge::to_onnx
