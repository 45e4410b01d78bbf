// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/open_programs.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "libmge/compile/compilation.h"
#include "libmge/graph/edit.h"
#include "libmge/graph/place.h"

namespace mge {
namespace {

bool may_open(const CompileOptions& o, std::span<const DeviceId> places) {
    return o.level >= 0 && !o.const_shape && !o.no_profiling_on_shape_change &&
           !o.comp_node_seq_record_level && !o.force_dynamic_alloc && !o.select.profile &&
           o.own_passes.empty() && o.extra_vardeps.empty() && o.callback_outputs.empty() &&
           o.device.is_host() && are_on_host(places);
}

int number_of(const OpenAxes& axes) {
    int bits = 0;
    for (uint32_t each : axes) bits += std::popcount(each);
    return bits;
}

// The graph with these inputs, its host values not folded.
Graph with_specs(Graph graph, const TensorSpecs& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) graph.value(graph.inputs()[i]).spec = inputs[i];
    return infer_again(std::move(graph));
}

}  // namespace

std::optional<OpenProgram> OpenPrograms::compile(const Graph& graph,
                                                 std::span<const TensorSpecs* const> earlier,
                                                 const TensorSpecs& inputs, std::span<const DeviceId> places,
                                                 const CompileOptions& options) {
    if (!may_open(options, places)) return std::nullopt;
    std::optional<OpenAxes> least;
    for (auto* specs : earlier) {
        auto changed = changed_axes(graph, *specs, inputs);
        if (changed && (!least || number_of(*changed) < number_of(*least))) least = changed;
    }
    if (!least || std::ranges::find(refused_, *least) != refused_.end()) return std::nullopt;
    OpenProgram result;
    try {
        if (auto open = open_graph(place_inputs(with_specs(graph, inputs), places), *least, options)) {
            result.program = compile_placed(std::move(open->graph), options);
            open->graph = {};
            result.open = std::make_shared<OpenGraph>(std::move(*open));
        }
    } catch (const UserError&) {
        // The program for these sizes reports it.
    }
    if (result.open && result.open->accepts(inputs)) return result;
    refused_.push_back(*least);
    return std::nullopt;
}

}  // namespace mge
