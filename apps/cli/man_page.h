// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "apps/cli/manual.h"

namespace CLI {
class App;
}

namespace mge::cli {

// Returns the manual page of a tool in roff.
std::string man_page(const CLI::App& app, const Manual& manual);

}  // namespace mge::cli
