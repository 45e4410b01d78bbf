// SPDX-License-Identifier: Apache-2.0
#pragma once
// A graph for a program that runs at all sizes of some dimensions of its inputs, such as the length of the
// past of a language model. Values whose shapes depend on these dimensions have unknown shapes, so their
// steps are dynamic (compile/schedule.h). All others are planned and prepared as in any program.

#include <cstdint>
#include <optional>
#include <vector>

#include "libmge/compile/options/options.h"
#include "libmge/graph/graph.h"

namespace mge {

// By input: a bit for each open axis.
using OpenAxes = std::vector<uint32_t>;

struct OpenGraph {
    Graph graph;                     // after the passes
    std::vector<TensorSpec> inputs;  // their open sizes are symbols, or expressions of symbols
    // Conditions on the symbols under which the known shapes of the graph are right.
    std::vector<Guard> guards;

    bool accepts(const TensorSpecs& specs) const;
};

// Returns the axes in which the specs differ; nullopt if they differ in anything else, or if the graph does
// not declare one of these axes open.
std::optional<OpenAxes> changed_axes(const Graph& graph, const TensorSpecs& a, const TensorSpecs& b);

// `graph` has a device for each operator and the shapes of one run. Returns nullopt if weights are multiplied
// in a dynamic step, which would prepare them in each run, or in none.
std::optional<OpenGraph> open_graph(Graph graph, const OpenAxes& open, const CompileOptions& options);

}  // namespace mge
