// SPDX-License-Identifier: Apache-2.0
#include "apps/fastrun_cache/commands.h"

namespace mge::fastrun_cache {
namespace {

cli::Manual manual() {
    return {
        .description = "Fills, reads, checks and merges caches of measured algorithms.",
        .footer =
            "A cache holds one row per machine, problem and algorithm: how long it took and what it needs. "
            "It is data, never code.\n"
            "load_and_run --fast-run uses $XDG_CACHE_HOME/mge/fastrun.sqlite unless another file is given.",
        .examples = {{"mge-fastrun-cache build cache.sqlite model.mge",
                      "Measures all algorithms of the model's steps"},
                     {"mge-fastrun-cache list cache.sqlite", "Problems, each with its fastest algorithm"},
                     {"mge-fastrun-cache explain cache.sqlite model.mge --threads 1",
                      "Explains which lookups of a run with one thread would miss"},
                     {"load_and_run model.mge --fast-run-algo-policy cache.sqlite",
                      "Runs with the stored measurements"},
                     {"mge-fastrun-cache prune cache.sqlite --other-machines",
                      "Keeps only entries of this machine"}},
        .files = {{"$XDG_CACHE_HOME/mge/fastrun.sqlite", "The cache that load_and_run uses by default"},
                  {"$XDG_CACHE_HOME/mge/packed-weights", "The model cache"}},
    };
}

constexpr void (*commands[])(cli::App&) = {add_build, add_list,  add_show,   add_explain, add_verify,
                                           add_merge, add_prune, add_export, add_import,  add_models};

int run(cli::Invocation& invocation) {
    cli::App app(invocation, manual());
    for (auto add : commands) add(app);
    return app.run();
}

}  // namespace
}  // namespace mge::fastrun_cache

int main(int argc, char** argv) {
    return mge::cli::run_tool("mge-fastrun-cache", argc, argv, mge::fastrun_cache::run);
}
