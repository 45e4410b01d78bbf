// SPDX-License-Identifier: Apache-2.0
#include "apps/profile/commands.h"

namespace mge::profile {
namespace {

cli::Manual manual() {
    return {
        .description = "Reads profiles of load_and_run --profile, and MegEngine's graph profiles.",
        .footer = {},
        .examples = {{"load_and_run model.mge --profile run.json", "Records a profile"},
                     {"mge-profile show run.json --top 20", "The slowest operators"},
                     {"mge-profile show run.json --aggregate sum --aggregate-by type", "One row per type"},
                     {"mge-profile export run.json --html run.html",
                      "One page with timeline, memory, roofline and tables"},
                     {"mge-profile diff run.json run.json", "Operators that became slower or faster"}},
        .files = {},
    };
}

constexpr void (*commands[])(cli::App&) = {add_show, add_diff, add_export, add_check};

int run(cli::Invocation& invocation) {
    cli::App app(invocation, manual());
    for (auto add : commands) add(app);
    return app.run();
}

}  // namespace
}  // namespace mge::profile

int main(int argc, char** argv) { return mge::cli::run_tool("mge-profile", argc, argv, mge::profile::run); }
