// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/footprint.h"

#include <algorithm>

#include "libmge/graph/inner_graph.h"
#include "libmge/ops/all.h"
#include "libmge/ops/nn/pooling/geometry.h"

namespace mge {
namespace {

// A node as a rule sees it. Counts are doubles: shapes of hostile models overflow integers.
struct Call {
    const OpInfo& op;
    const void* params;
    std::span<const TensorSpec> inputs, outputs;

    template <class Op>
    const typename Op::Params& as() const {
        return *static_cast<const typename Op::Params*>(params);
    }
    const TensorSpec& in(size_t i) const { return inputs[i]; }
    bool has(size_t i) const { return i < inputs.size() && !inputs[i].is_absent(); }
};

double elements(const TensorSpec& spec) {
    double n = 1;
    for (int64_t extent : spec.shape.dims()) n *= double(extent);
    return n;
}

double elements_out(const Call& c) {
    double n = 0;
    for (auto& spec : c.outputs) n += elements(spec);
    return n;
}

double no_operations(const Call&) { return 0; }

// An operator of n inputs combines them with n - 1 operations per element; one of a single input does one.
double per_element(const Call& c) {
    return elements_out(c) * double(std::max<size_t>(c.inputs.size(), 2) - 1);
}

double program_steps(const Call& c, const ops::FusedProgram& program) {
    TensorSpecs registers = program.infer(c.inputs);
    double n = 0;
    for (size_t i = 0; i < program.steps().size(); ++i) {
        auto& step = program.steps()[i];
        if (step.op && step.op->traits.elementwise)
            n += elements(registers[c.inputs.size() + i]) *
                 double(std::max<size_t>(step.operands.size(), 2) - 1);
    }
    return n;
}
double fused_steps(const Call& c) {
    return program_steps(c, ops::FusedProgram::parse(c.as<ops::FusedElementwise>().program));
}
// A reduction at the end does one operation per element that it is given.
double region_steps(const Call& c) {
    auto& params = c.as<ops::FusedRegion>();
    auto program = ops::FusedProgram::parse(params.program);
    double reduced = params.reduction.empty() ? 0 : elements(program.infer(c.inputs).back());
    return program_steps(c, program) + reduced;
}

// (…, channels per group, kh, kw): the multiply-adds behind each element of the convolution's result.
double window(const TensorSpec& weight) {
    double n = 1;
    for (int i = std::max(0, weight.shape.rank() - 3); i < weight.shape.rank(); ++i)
        n *= double(weight.shape[i]);
    return n;
}

// Bias and residual, inputs 2 and 3, add once per element each.
double epilogue(const Call& c) { return elements(c.outputs[0]) * (double(c.has(2)) + double(c.has(3))); }

double convolution(const Call& c) { return 2 * elements(c.outputs[0]) * window(c.in(1)) + epilogue(c); }
double convolution_backward_data(const Call& c) { return 2 * elements(c.in(1)) * window(c.in(0)); }
double convolution_backward_weight(const Call& c) { return 2 * elements(c.in(1)) * window(c.outputs[0]); }

double matrix_product(const Call& c) {
    auto& a = c.in(0).shape;
    int k_axis = a.rank() > 1 && c.as<ops::Matmul>().transpose_a ? a.rank() - 2 : a.rank() - 1;
    return 2 * elements(c.outputs[0]) * double(a[k_axis]) + epilogue(c);
}

double area(ops::Pair window) { return double(window[0]) * double(window[1]); }

// Each result of a pooling, or each element of its gradient dy, comes from or goes to a whole window.
template <class Op>
double pooling(const Call& c) {
    return elements(c.outputs[0]) * area(c.as<Op>().kernel);
}
template <class Op, size_t dy>
double pooling_backward(const Call& c) {
    return elements(c.in(dy)) * area(c.as<Op>().kernel);
}
template <class Op>
ops::Pair adaptive_window(const Call& c) {
    auto& p = c.as<Op>();
    return ops::adaptive_pool_geometry(c.op.name, c.in(0).shape, {p.height, p.width}).kernel;
}
template <class Op>
double adaptive_pooling(const Call& c) {
    return elements(c.outputs[0]) * area(adaptive_window<Op>(c));
}
template <class Op, size_t dy>
double adaptive_pooling_backward(const Call& c) {
    return elements(c.in(dy)) * area(adaptive_window<Op>(c));
}

double each_input(const Call& c) { return elements(c.in(0)); }
// Mean, variance, difference, scale, weight and bias: as MegEngine's module statistics count them.
double normalisation(const Call& c) { return 7 * elements(c.in(0)); }
double subtraction_and_scale(const Call& c) { return 2 * elements_out(c); }
// Largest, difference, exponential, sum, quotient.
double softmax(const Call& c) { return 5 * elements(c.in(0)); }
double sgd(const Call& c) { return 3 * elements(c.in(0)); }
// Two moments (3 and 4), the root, the quotient, the step and what surrounds them (5).
double adam(const Call& c) { return 12 * elements(c.in(0)); }

// What an operator reads of its inputs.
enum class Reads : uint8_t {
    all,
    selected,  // of input 0 only as much as comes out
    nothing,   // only specs
};

struct Rule {
    const OpInfo* op;
    double (*operations)(const Call&);  // null: nobody can tell
    Reads reads = Reads::all;
};

// Operators that are not here move elements: as many operations as elements come out.
const Rule rules[] = {
    {&ops::AdamStep::info, adam},
    {&ops::AdaptiveAvgPool2d::info, adaptive_pooling<ops::AdaptiveAvgPool2d>},
    {&ops::AdaptiveAvgPool2dBackward::info, adaptive_pooling_backward<ops::AdaptiveAvgPool2dBackward, 1>},
    {&ops::AdaptiveMaxPool2d::info, adaptive_pooling<ops::AdaptiveMaxPool2d>},
    {&ops::AdaptiveMaxPool2dBackward::info, adaptive_pooling_backward<ops::AdaptiveMaxPool2dBackward, 2>},
    {&ops::Argmax::info, each_input},
    {&ops::Argmin::info, each_input},
    {&ops::AvgPool2d::info, pooling<ops::AvgPool2d>},
    {&ops::AvgPool2dBackward::info, pooling_backward<ops::AvgPool2dBackward, 1>},
    {&ops::BatchNorm::info, normalisation},
    {&ops::BatchNormBackward::info, normalisation},
    {&ops::CondTake::info, nullptr},
    {&ops::Conv2d::info, convolution},
    {&ops::Conv2dBackwardData::info, convolution_backward_data},
    {&ops::Conv2dBackwardWeight::info, convolution_backward_weight},
    {&ops::Cumsum::info, each_input},
    {&ops::Dropout::info, nullptr},
    {&ops::Embedding::info, elements_out, Reads::selected},
    {&ops::FusedElementwise::info, fused_steps},
    {&ops::FusedRegion::info, region_steps},
    {&ops::Gather::info, elements_out, Reads::selected},
    {&ops::GroupNorm::info, normalisation},
    {&ops::GroupNormBackward::info, normalisation},
    {&ops::IndexingOneHot::info, elements_out, Reads::selected},
    {&ops::LayerNorm::info, normalisation},
    {&ops::LayerNormBackward::info, normalisation},
    {&ops::Matmul::info, matrix_product},
    {&ops::Max::info, each_input},
    {&ops::MaxPool2d::info, pooling<ops::MaxPool2d>},
    {&ops::MaxPool2dBackward::info, pooling_backward<ops::MaxPool2dBackward, 2>},
    {&ops::Mean::info, each_input},
    {&ops::Min::info, each_input},
    {&ops::Normal::info, nullptr},
    {&ops::Permutation::info, nullptr},
    {&ops::Preprocess::info, subtraction_and_scale},
    {&ops::Prod::info, each_input},
    {&ops::ReduceToShape::info, each_input},
    {&ops::SgdStep::info, sgd},
    {&ops::Slice::info, elements_out, Reads::selected},
    {&ops::Softmax::info, softmax},
    {&ops::Sort::info, nullptr},
    {&ops::Sum::info, each_input},
    {&ops::Take::info, elements_out, Reads::selected},
    {&ops::Topk::info, nullptr},
    {&ops::Uniform::info, nullptr},
};

Rule rule_of(const OpInfo& op) {
    auto found = std::ranges::find(rules, &op, &Rule::op);
    if (found != std::end(rules)) return *found;
    if (op.traits.view) return {&op, no_operations, Reads::nothing};
    if (op.traits.reads_only_specs) return {&op, elements_out, Reads::nothing};
    return {&op, op.traits.elementwise ? per_element : elements_out};
}

double bytes_of(const TensorSpec& spec) {
    return spec.layout.is_plain() ? elements(spec) * double(size_of(spec.dtype)) : double(spec.bytes());
}

double moved_bytes(const Call& c, Reads reads) {
    if (c.op.traits.view) return 0;
    double written = 0, read = 0;
    for (auto& spec : c.outputs) written += bytes_of(spec);
    for (size_t i = 0; i < c.inputs.size() && reads != Reads::nothing; ++i) {
        if (!c.has(i) || input_info(c.op, i).name == "like") continue;
        double all = bytes_of(c.in(i));
        read += i == 0 && reads == Reads::selected ? std::min(all, written) : all;
    }
    return read + written;
}

bool all_known(std::span<const TensorSpec> specs) {
    return std::ranges::all_of(specs, [](auto& s) { return s.is_absent() || s.shape.is_known(); });
}

// One run of a graph that an operator holds, as far as it can be told.
struct Work {
    double operations = 0, bytes = 0;
};
Work work_of(const SubgraphRef& held, std::span<const TensorSpec> inputs) {
    Graph graph = infer_shapes(graph_of(held), TensorSpecs(inputs.begin(), inputs.end()));
    Work sum;
    for (auto& node : graph.nodes()) {
        Footprint one = footprint(graph, node);
        sum.operations += one.operations.value_or(0);
        sum.bytes += one.bytes.value_or(0);
    }
    return sum;
}

// The dearer way.
Footprint of_cond(const Call& c) {
    auto& params = c.as<ops::Cond>();
    Work a = work_of(params.then_graph, c.inputs.subspan(1));
    Work b = work_of(params.else_graph, c.inputs.subspan(1));
    return {std::max(a.operations, b.operations), std::max(a.bytes, b.bytes)};
}

Footprint of_scan(const Call& c) {
    auto& params = c.as<ops::Scan>();
    Work step = work_of(params.body, ops::scan_arguments(params, c.inputs));
    auto steps = double(ops::scan_length(params, c.inputs));
    return {steps * step.operations, steps * step.bytes};
}

// How often a while_loop goes round only a run can tell.

std::optional<Footprint> of_control(const Call& c) {
    if (&c.op == &ops::Cond::info) return of_cond(c);
    if (&c.op == &ops::Scan::info) return of_scan(c);
    if (&c.op == &ops::WhileLoop::info) return Footprint{};
    return std::nullopt;
}

}  // namespace

Footprint footprint(const OpInfo& op, const void* params, std::span<const TensorSpec> inputs,
                    std::span<const TensorSpec> outputs) {
    if (!all_known(inputs) || !all_known(outputs) || outputs.empty()) return {};
    Call call{op, params, inputs, outputs};
    if (auto control = of_control(call)) return *control;
    Rule rule = rule_of(op);
    Footprint result;
    if (rule.operations) result.operations = rule.operations(call);
    result.bytes = moved_bytes(call, rule.reads);
    return result;
}

Footprint footprint(const Graph& graph, const Node& node) {
    auto specs_of = [&](const std::vector<ValueId>& ids) {
        TensorSpecs specs;
        for (ValueId id : ids) specs.push_back(id == no_value ? TensorSpec{} : graph.value(id).spec);
        return specs;
    };
    return footprint(*node.op, node.params.get(), specs_of(node.inputs), specs_of(node.outputs));
}

}  // namespace mge
