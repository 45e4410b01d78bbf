// SPDX-License-Identifier: Apache-2.0
#include "apps/profile/commands.h"

namespace mge::profile {
namespace {

constexpr const char* description =
    "Reads what load_and_run --profile recorded, and MegEngine's graph profiles.";

constexpr void (*commands[])(cli::App&) = {add_show, add_diff, add_export, add_check};

int run(cli::Invocation& invocation) {
    cli::App app(invocation, description);
    for (auto add : commands) add(app);
    return app.run();
}

}  // namespace
}  // namespace mge::profile

int main(int argc, char** argv) { return mge::cli::run_tool("mge-profile", argc, argv, mge::profile::run); }
