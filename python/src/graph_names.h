// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of operators, values and constants in graphs that are written to files.

#include <string>
#include <utility>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge::python {

std::vector<std::string> names_of(const Graph& graph, const std::vector<ValueId>& ids);

// The names that a file keeps. Inputs always keep theirs.
struct KeptNames {
    int values = 1;  // 0: none; 1: outputs; 2: all, including constants
    bool operators = false, constants = false;
};
void drop_names(Graph& graph, const KeptNames& kept);

// Numbers names that several values share, so that names identify values. Inputs and outputs keep theirs.
void number_equal_values(Graph& graph);

// The operators of a recorded function at which the innermost running module changes, and that module's name.
using NameScopes = std::vector<std::pair<size_t, std::string>>;

// conv(x, w, bias) => bias + conv(x, w), and the same for matmul, as MegEngine records them. The scopes keep
// their operators.
Graph separate_biases(const Graph& graph, NameScopes& scopes);

// Names operators as MegEngine does: "net.conv.Convolution", and "net.ADD[1]" for one of several in a module.
// The operators are in the order of the recording.
void name_recorded(Graph& graph, const NameScopes& scopes);

}  // namespace mge::python
