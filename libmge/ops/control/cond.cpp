// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/control/cond.h"

#include <algorithm>
#include <optional>

#include "libmge/base/number_text.h"
#include "libmge/ops/control/control.h"

namespace mge::ops {

namespace {

// Both branches, or the one that accepts operands of these shapes: whether the other is ever taken is known
// only at run time, which fails then.
std::vector<TensorSpecs> possible_results(const Cond::Params& p, Specs operands) {
    std::vector<TensorSpecs> results;
    std::optional<UserError> problem;
    auto add = [&](std::string_view parameter, const SubgraphRef& graph) {
        require_graph(Cond::name, parameter, graph, operands.size());
        try {
            results.push_back(infer_graph(Cond::name, parameter, graph, operands));
        } catch (const Undecidable&) {
            throw;  // not a refusal: the branch may accept them
        } catch (const UserError& e) {
            if (!problem) problem = e;
        }
    };
    add("then_graph", p.then_graph);
    add("else_graph", p.else_graph);
    if (results.empty()) throw *problem;
    return results;
}

}  // namespace

TensorSpecs Cond::infer(const Params& p, Specs in) {
    require_flag(name, "predicate", in[0]);
    auto possible = possible_results(p, in.subspan(1));
    TensorSpecs results = possible.front(), others = possible.back();
    if (results.size() != others.size())
        throw_value_error(name, "one graph has ", counted(results.size(), "result"), ", the other ",
                          others.size());
    for (size_t i = 0; i < results.size(); ++i) {
        if (results[i].dtype != others[i].dtype)
            throw_type_error(name, "result ", i, " is ", results[i], " in one graph and ", others[i],
                             " of the other");
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

// Null programs: it cannot take the operands, and that is why.
struct Way {
    std::shared_ptr<const SubgraphPrograms> programs;
    std::optional<UserError> problem;
    size_t workspace() const { return programs ? programs->workspace() : 0; }
};

struct State {
    Way then_way, else_way;  // one, where the graphs are
    HostFlag predicate;
    DeviceId device;
    std::vector<size_t> open;  // results whose shapes the two ways do not share
};

Way way_of(const Subgraph& graph, std::string_view parameter, const PrepareContext& context) {
    auto operands = context.problem.inputs.subspan(1);
    Way way;
    try {
        graph.infer(operands);
    } catch (const UserError& e) {
        way.problem = e;
        return way;
    }
    way.programs = compile_subgraph(graph, {parameter, false}, operands, context);
    return way;
}

Prepared prepare(const PrepareContext& context) {
    auto& problem = context.problem;
    auto& params = problem.as<Cond::Params>();
    std::vector<size_t> open;
    for (size_t i = 0; i < problem.outputs.size(); ++i)
        if (!problem.outputs[i].shape.is_known()) open.push_back(i);
    Way then_way = way_of(*params.then_graph, "then_graph", context), else_way = then_way;
    if (params.else_graph.get() != params.then_graph.get())
        else_way = way_of(*params.else_graph, "else_graph", context);
    size_t workspace = std::max(then_way.workspace(), else_way.workspace());
    State state{std::move(then_way), std::move(else_way), HostFlag(problem.inputs[0], problem.device),
                problem.device, std::move(open)};
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
    auto& way = is_true ? state.then_way : state.else_way;
    if (way.problem)
        throw_user(Cond::name, text(is_true ? "then_graph" : "else_graph", ": ", way.problem->what()),
                   way.problem->error_class());
    BorrowedProgram program(*way.programs, launch, launch.workspace);
    if (state.open.empty()) return program->run(launch.inputs.subspan(1), launch.outputs);
    program->run(launch.inputs.subspan(1), places_of(state, *program, launch));
    hand_over(state, *program, launch);
}

}  // namespace

KernelList kernels(Cpu, Cond) {
    static constexpr Algorithm list[] = {{"program", always, prepare, run, {.unmeasured = true}}};
    return list;
}

// The dearer way, of those that can be taken.
Footprint Cond::footprint(const Params& p, Specs in, Specs) {
    Footprint dearer{0, 0};
    for (auto& graph : {p.then_graph, p.else_graph}) {
        try {
            Footprint way = graph->footprint(in.subspan(1));
            dearer = {std::max(*dearer.operations, *way.operations), std::max(*dearer.bytes, *way.bytes)};
        } catch (const UserError&) {  // it is an error of the run that takes it
        }
    }
    return dearer;
}

}  // namespace mge::ops
