// SPDX-License-Identifier: Apache-2.0
#include "apps/fastrun_cache/commands.h"

namespace mge::fastrun_cache {
namespace {

constexpr const char* description = "Fills, reads, checks and joins caches of measured algorithms.";
constexpr const char* footer =
    "A cache holds one row per machine, problem and algorithm: how long it took and what it needs. It is "
    "data, "
    "never code.\nload_and_run --fast-run uses $XDG_CACHE_HOME/mge/fastrun.sqlite unless it is told another.";

constexpr void (*commands[])(cli::App&) = {add_build, add_list,  add_show,   add_explain, add_verify,
                                           add_merge, add_prune, add_export, add_import};

int run(cli::Invocation& invocation) {
    cli::App app(invocation, description, footer);
    for (auto add : commands) add(app);
    return app.run();
}

}  // namespace
}  // namespace mge::fastrun_cache

int main(int argc, char** argv) {
    return mge::cli::run_tool("mge-fastrun-cache", argc, argv, mge::fastrun_cache::run);
}
