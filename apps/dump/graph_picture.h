// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "libmge/graph/graph.h"

namespace mge::dump {

struct PictureOptions {
    bool constants = false, params = false;
    std::string around;  // the name of an operator or value; empty: everything is drawn
    int depth = 3;
    std::string title;
};

// The graph in Graphviz's language: a box per operator, coloured by its kind, arrows with dtype and shape,
// a title and what the colours mean. Weights stand beside the operator that reads them.
// The graph has to know where its operators come from (note_origins): they are called as in every tool.
// UserError when nothing is called `around`.
std::string dot_text(const Graph& graph, const PictureOptions& options);

// Graphviz's `dot` lays the text out as SVG; DeviceError that says how to install it when it is missing.
std::string svg_from_dot(const std::string& dot);

}  // namespace mge::dump
