// SPDX-License-Identifier: Apache-2.0
// An operator of a third party that holds a graph: a shared object that links libmge.so.
#include "libmge/op/subgraph.h"
#include "libmge/own_operators.h"

namespace vendor {

using namespace mge;

// y = graph(graph(x))
struct Twice {
    static constexpr auto name = "test_twice";
    static constexpr auto doc = "What a graph makes of what it makes of x.";
    static constexpr auto inputs = names("x");
    static constexpr auto outputs = output_names("y");
    static constexpr bool stops_gradient = true;
    static constexpr OpTraits traits{.control = true};
    struct Params {
        SubgraphRef graph;
    };
    static constexpr auto fields =
        field_list(field<&Params::graph>("graph", "Of one tensor to one like it."));

    static TensorSpecs infer(const Params& p, Specs in) {
        if (!p.graph || p.graph->infer(in) != TensorSpecs{in[0]})
            throw_user(name, "graph has to make a tensor like its own", ErrorClass::value);
        return {in[0]};
    }
    static const OpInfo info;
};
constinit const OpInfo Twice::info = define<Twice>();

struct State {
    std::shared_ptr<const SubgraphPrograms> programs;
    size_t middle;  // position of the first result in the workspace
};

Prepared prepare(const PrepareContext& context) {
    auto& problem = context.problem;
    auto& graph = *problem.as<Twice::Params>().graph;
    std::shared_ptr<const SubgraphPrograms> programs =
        compile_subgraph(graph, {.parameter = "graph"}, problem.inputs, context);
    size_t middle = (programs->workspace() + 63) / 64 * 64;
    return Prepared::make(State{std::move(programs), middle}, middle + problem.inputs[0].bytes());
}
void run(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    void* middle = static_cast<char*>(launch.workspace) + state.middle;
    const void* first = middle;
    BorrowedProgram program(*state.programs, launch, launch.workspace);
    program->run(launch.inputs, {&middle, 1});
    program->run({&first, 1}, launch.outputs);
}

KernelList kernels(Cpu, Twice) {
    static constexpr Algorithm list[] = {{"program", plain_layouts, prepare, run, {.unmeasured = true}}};
    return list;
}

}  // namespace vendor

extern "C" MGE_API const mge::OperatorLibrary* mge_operators() {
    static constexpr auto tables = mge::operator_tables(mge::TypeList<vendor::Twice>{});
    static constexpr auto library = mge::make_operator_library("test_graphs", tables);
    return &library;
}
