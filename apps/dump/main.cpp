// SPDX-License-Identifier: Apache-2.0
#include "apps/dump/commands.h"

namespace mge::dump {
namespace {

constexpr const char* description = "Shows what is in a model file, and rewrites it.";

constexpr void (*commands[])(cli::App&) = {
    add_info,  add_graph, add_weights, add_convert, add_testcase, add_optimize,
    add_strip, add_pack,  add_unpack,  add_iodiff,  add_doctor,
};

int run(cli::Invocation& invocation) {
    cli::App app(invocation, description);
    for (auto add : commands) add(app);
    return app.run();
}

}  // namespace
}  // namespace mge::dump

int main(int argc, char** argv) { return mge::cli::run_tool("mge-dump", argc, argv, mge::dump::run); }
