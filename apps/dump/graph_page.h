// SPDX-License-Identifier: Apache-2.0
#pragma once
// The interactive page of a graph: its folds with their layouts, the operators with shapes, parameters and
// weights, and, with a profile, the time of each and what bounds it.

#include <map>
#include <ostream>
#include <string>

#include "apps/cli/tool.h"
#include "apps/dump/graph_layout.h"
#include "apps/dump/graph_times.h"
#include "apps/dump/info.h"

namespace mge::dump {

struct GraphPage {
    std::string title;
    const Graph* graph = nullptr;
    std::map<std::string, std::string> facts;  // about the file: its format and metadata
    FoldTree tree;
    ModelFigures figures;
    std::optional<GraphTimes> times;
    std::string profile_page;  // address of the page of the profile; empty: no link
    std::vector<std::vector<std::string>> node_lines, fold_lines;  // texts in the boxes
    std::vector<double> node_scales, fold_scales;                  // sizes of boxes, by their time
    std::vector<std::vector<Layout>> layouts;
};

// The graph must have origins (note_origins), and outlive the page. Throws DeviceError if Graphviz is
// missing.
GraphPage prepare_page(const Graph& graph, std::string title, std::optional<GraphTimes> times);
void write_page(std::ostream& stream, const GraphPage& page);

// Folds with their operators and times, and what the profile shows: for the report and the terminal.
cli::Json to_json(const GraphPage& page);
void print_folds(std::ostream& stream, const GraphPage& page);

}  // namespace mge::dump
