// SPDX-License-Identifier: Apache-2.0
#pragma once
// A graph, operator by operator.

#include <set>
#include <string>
#include <vector>

#include "libmge/base/unique_names.h"
#include "libmge/model/export/onnx/site.h"

namespace mge::to_onnx {

// The graph before translation: without dead and fused operators, and with names.
Graph prepare_graph(Graph graph);

class Translation {
public:
    // Names inside another operator begin with `prefix`.
    Translation(GraphWriter& writer, Graph graph, const OpenInputs& inputs, std::string prefix = {});
    Translation(const Translation&) = delete;

    // The writer's record has the graph's inputs and outputs.
    void run();
    // The graph's inputs are these operands, and its outputs those that it gives.
    Operands run_on(const Operands& inputs);
    // Empty if the translation is complete.
    const std::vector<std::string>& problems() const { return problems_; }
    TensorSpecs output_specs() const { return specs_of(graph_, graph_.outputs()); }

private:
    void name_values();
    std::string add_constant(ValueId id);
    void translate_all();
    void check_dtypes(const Node& node, const Site& site) const;
    void translate(const Node& node);
    void bind(const Node& node, const Operands& results, size_t first);
    void add_outputs();
    ValueRecord describe(ValueId id, const std::string& name);

    GraphWriter& writer_;
    Graph graph_;
    std::string prefix_;
    Shapes shapes_;
    std::vector<int> uses_;
    std::vector<Operand> names_;  // by value
    UniqueNames node_names_;
    std::vector<std::string> problems_;
};

}  // namespace mge::to_onnx
