// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "libmge/graph/graph.h"

namespace mge::dump {

struct PictureOptions {
    bool constants = false, params = false;
    std::string around;  // name of an operator or value; empty: draw everything
    int depth = 3;
    std::string title;
};

// Returns the graph in Graphviz's language: a box per operator, coloured by kind, arrows with dtype and
// shape, a title and a legend. Weights are drawn beside the operator that reads them. The graph must have
// origins (note_origins), which name the operators as in every tool. Throws UserError if nothing is called
// `around`.
std::string dot_text(const Graph& graph, const PictureOptions& options);

}  // namespace mge::dump
