// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/control/cond.h"

#include <algorithm>

#include "libmge/op/define.h"
#include "libmge/ops/control/control.h"

namespace mge::ops {

constinit const OpInfo Cond::info = define<Cond>();

TensorSpecs Cond::infer(const Params& p, std::span<const TensorSpec> in) {
    require_flag(name, "predicate", in[0]);
    TensorSpecs results = infer_graph(name, "then_graph", p.then_graph, in.subspan(1));
    TensorSpecs others = infer_graph(name, "else_graph", p.else_graph, in.subspan(1));
    if (results.size() != others.size())
        throw_user(name, text("one graph has ", results.size(), " results, the other ", others.size()),
                   ErrorClass::value);
    for (size_t i = 0; i < results.size(); ++i) {
        if (results[i].dtype != others[i].dtype)
            throw_user(
                name,
                text("result ", i, " is ", results[i], " of one graph and ", others[i], " of the other"),
                ErrorClass::type);
        if (!(results[i].shape == others[i].shape)) results[i].shape = Shape::unknown();
    }
    return results;
}

Tensors Cond::gradient(const GradientContext<Params>& g) {
    auto operands = g.inputs.subspan(1);
    auto wrt = float_positions(operands, g.needed.subspan(1));
    auto of = float_positions(g.output_grads);
    Tensors result(g.inputs.size());
    if (wrt.empty() || of.empty()) return result;
    auto gradient_of = [&](const SubgraphRef& graph) {
        return graph->derived(key_of("gradient", of, wrt), [&] { return graph->gradient(of, wrt); });
    };
    Tensors inputs(g.inputs.begin(), g.inputs.end());
    append(inputs, at(g.output_grads, of));
    Tensors grads = cond(inputs, {gradient_of(g.params.then_graph), gradient_of(g.params.else_graph)});
    for (size_t i = 0; i < wrt.size(); ++i) result[wrt[i] + 1] = grads[i];
    return result;
}

namespace {

struct State {
    std::shared_ptr<const SubgraphPrograms> then_programs, else_programs;  // one, where the graphs are
    HostFlag predicate;
    DeviceId device;
    std::vector<size_t> open;  // results whose shapes the two ways do not share
};

Prepared prepare(const PrepareContext& context) {
    auto& problem = context.problem;
    auto& params = problem.as<Cond::Params>();
    auto operands = problem.inputs.subspan(1);
    std::vector<size_t> open;
    for (size_t i = 0; i < problem.outputs.size(); ++i)
        if (!problem.outputs[i].shape.is_known()) open.push_back(i);
    std::shared_ptr<const SubgraphPrograms> then_programs =
        compile_subgraph(*params.then_graph, {"then_graph", false}, operands, context);
    auto else_programs = then_programs;
    if (params.else_graph.get() != params.then_graph.get())
        else_programs = compile_subgraph(*params.else_graph, {"else_graph", false}, operands, context);
    State state{then_programs, else_programs, HostFlag(problem.inputs[0], problem.device), problem.device,
                std::move(open)};
    size_t workspace = std::max(state.then_programs->workspace(), state.else_programs->workspace());
    return Prepared::make(std::move(state), workspace);
}

// Null still: the way finds out the shape.
std::vector<void*> places_of(const State& state, const SubgraphProgram& program, const Launch& launch) {
    std::vector<void*> places(launch.outputs.begin(), launch.outputs.end());
    for (size_t i : state.open)
        if (auto& spec = program.outputs()[i]; spec.shape.is_known())
            places[i] = launch.allocator->allocate(i, spec);
    return places;
}

void hand_over(const State& state, SubgraphProgram& program, const Launch& launch) {
    for (size_t i : state.open) {
        if (program.outputs()[i].shape.is_known()) continue;
        Tensor result = program.output(i);
        program.queue().copy(launch.allocator->allocate(i, result.spec()), result.address(),
                             result.spec().bytes());
    }
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    bool is_true = state.predicate.read(queue_for(launch, state.device), launch.inputs[0]);
    BorrowedProgram program(is_true ? *state.then_programs : *state.else_programs, launch.workspace);
    if (state.open.empty()) return program->run(launch.inputs.subspan(1), launch.outputs);
    program->run(launch.inputs.subspan(1), places_of(state, *program, launch));
    hand_over(state, *program, launch);
}

}  // namespace

KernelList kernels(Cpu, Cond) {
    static constexpr Algorithm list[] = {{"program", always, prepare, run, {.unmeasured = true}}};
    return list;
}

// The dearer way.
Footprint Cond::footprint(const Params& p, std::span<const TensorSpec> in, std::span<const TensorSpec>) {
    Footprint a = p.then_graph->footprint(in.subspan(1)), b = p.else_graph->footprint(in.subspan(1));
    return {std::max(*a.operations, *b.operations), std::max(*a.bytes, *b.bytes)};
}

}  // namespace mge::ops
