// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/options/hint.h"

#include <CLI/CLI.hpp>

#include "apps/cli/options/numbers.h"
#include "apps/cli/options/one_of.h"
#include "libmge/base/error.h"

namespace mge::load_and_run {

void add(CLI::App& app, HintOptions& o) {
    app.add_option("--hint", o.goal, "Choose streams and threads by measuring which are best for this")
        ->check(cli::one_of({"latency", "throughput"}));
    app.add_option("--hint-limit", o.seconds, "With --hint: seconds for the choice")
        ->check(cli::real_number(0.01, 86400))
        ->capture_default_str();
}

void check_hint(const CLI::App& app, const HintOptions& o) {
    if (!o.is_given()) {
        if (app.get_option("--hint-limit")->count() > 0)
            throw_value_error("--hint-limit", "needs --hint latency or --hint throughput");
        return;
    }
    for (auto* name : {"--threads", "--streams", "--thread", "--rate", "--multithread",
                       "--multithread-default", "--cpu-default", "--affinity", "--fitting", "--first-diff",
                       "--replay-plan", "--baseline-tool", "--serve-rounds", "--round-robin"})
        if (app.get_option(name)->count() > 0)
            throw_value_error("--hint", "contradicts ", name, ": it chooses streams and threads by itself");
}

}  // namespace mge::load_and_run
