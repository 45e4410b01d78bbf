// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the operators, values and constants of a graph are called that goes into a file.

#include <string>
#include <utility>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge::python {

std::vector<std::string> names_of(const Graph& graph, const std::vector<ValueId>& ids);

// Which names a file has; inputs have theirs anyway.
struct KeptNames {
    int values = 1;  // 0: none; 1: outputs; 2: all, constants too
    bool operators = false, constants = false;
};
void drop_names(Graph& graph, const KeptNames& kept);

// Where in a recorded function a module began or ended to run: from this operator on it is the innermost one.
using NameScopes = std::vector<std::pair<size_t, std::string>>;

// Names of operators as MegEngine gives them: "net.conv.Convolution", "net.ADD[1]" where a module has
// several. They are those of the recorded function, in their order.
void name_recorded(Graph& graph, const NameScopes& scopes);

}  // namespace mge::python
