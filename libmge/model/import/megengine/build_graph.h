// SPDX-License-Identifier: Apache-2.0
#pragma once
// From a decoded model to a graph of our operators.

#include <string>
#include <vector>

#include "libmge/graph/graph.h"
#include "libmge/model/import/megengine/record.h"

namespace mge::megengine {

struct BuiltGraph {
    Graph graph;
    // All inputs of the file, sorted: the order of the values in its test cases.
    std::vector<std::string> file_inputs;
    // For each output the input of the file that holds what it should be; empty: there is none.
    std::vector<std::string> expectations;
};

// Inputs that only say what an output should be are left out, with the operators that compare them.
// ModelError that lists every operator without a counterpart.
BuiltGraph build_graph(const ModelRecord& record, const std::string& label);

}  // namespace mge::megengine
