// SPDX-License-Identifier: Apache-2.0
#include "apps/dump/commands.h"

namespace mge::dump {
namespace {

cli::Manual manual() {
    return {
        .description = "Shows what is in a model file, and rewrites it.",
        .footer = {},
        .examples = {{"mge-dump info model.mge --all", "Operators, weights, values and what a run costs"},
                     {"mge-dump graph model.mge --format dot", "The graph as Graphviz reads it, on stdout"},
                     {"mge-dump optimize model.mge optimized.mge",
                      "Runs the passes that need no machine ahead of time"},
                     {"mge-dump weights model.mge weights.npz", "The weights as NumPy reads them"},
                     {"mge-dump doctor", "What of this machine is used, what is not, and what to do"}},
        .files = {},
    };
}

constexpr void (*commands[])(cli::App&) = {
    add_info,  add_graph, add_weights, add_convert, add_testcase, add_optimize,
    add_strip, add_pack,  add_unpack,  add_iodiff,  add_doctor,
};

int run_command(cli::Invocation& invocation) {
    cli::App app(invocation, manual());
    for (auto add : commands) add(app);
    return app.run();
}

}  // namespace
}  // namespace mge::dump

int main(int argc, char** argv) { return mge::cli::run_tool("mge-dump", argc, argv, mge::dump::run_command); }
