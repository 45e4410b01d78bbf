// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts a decoded model to a graph of our operators.

#include <string>
#include <vector>

#include "libmge/graph/graph.h"
#include "libmge/model/import/megengine/record.h"

namespace mge::megengine {

struct BuiltGraph {
    Graph graph;
    // All inputs of the file, sorted: the order of the values in its test cases.
    std::vector<std::string> file_inputs;
    // For each output the input of the file with its expected values; empty: there is none.
    std::vector<std::string> expectations;
};

// Inputs that only contain expected outputs are removed, with the operators that compare them. ModelError
// that lists every operator without a counterpart.
BuiltGraph build_graph(const ModelRecord& record, const std::string& label);

}  // namespace mge::megengine
