// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "apps/cli/options/layout_options.h"
#include "libmge/compat/megengine_options.h"

namespace CLI {
class App;
}

namespace mge::load_and_run {

// Options of the graph before and during its compilation.
struct GraphOptions {
    cli::LayoutOptions layout;
    std::string layout_transform_dump;
    CompileOptions compile{.naming = compat::flag_of};  // flags from the list of options
    std::optional<bool> jit;                            // another way to give switches.fuse_elementwise

    bool optimize_for_inference = false;
    bool no_sanity_check = false;
    bool record_comp_seq = false, record_comp_seq2 = false;
    bool disable_mem_opt = false;

    int record_level() const { return record_comp_seq2 ? 2 : record_comp_seq ? 1 : 0; }
};

void add(CLI::App& app, GraphOptions& options);
void check(const GraphOptions& options);
// All compile options of the graph.
CompileOptions with_graph_options(const GraphOptions& options);

}  // namespace mge::load_and_run
