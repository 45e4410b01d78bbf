// SPDX-License-Identifier: Apache-2.0
#include "apps/dump/commands.h"

namespace mge::dump {
namespace {

cli::Manual manual() {
    return {
        .description = "Shows the content of a model file, and rewrites it.",
        .footer = {},
        .examples = {{"mge-dump info model.mge --all", "Operators, weights, values and the cost of a run"},
                     {"mge-dump graph model.mge --format dot", "The graph in Graphviz's format, on stdout"},
                     {"mge-dump optimize model.mge optimized.mge",
                      "Runs the machine-independent passes in advance"},
                     {"mge-dump weights model.mge weights.npz", "The weights as a NumPy file"},
                     {"mge-dump doctor", "Features of this machine that are used or not, and remedies"}},
        .files = {},
    };
}

constexpr void (*commands[])(cli::App&) = {
    add_info,    add_graph, add_weights, add_convert,  add_testcase, add_optimize, add_strip,
    add_extract, add_pack,  add_unpack,  add_evaluate, add_diff,     add_iodiff,   add_doctor,
};

int run_command(cli::Invocation& invocation) {
    cli::App app(invocation, manual());
    for (auto add : commands) add(app);
    return app.run();
}

}  // namespace
}  // namespace mge::dump

int main(int argc, char** argv) { return mge::cli::run_tool("mge-dump", argc, argv, mge::dump::run_command); }
