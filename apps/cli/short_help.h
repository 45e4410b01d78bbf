// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "apps/cli/manual.h"

namespace CLI {
class App;
}

namespace mge::cli {

// --help of a tool with many options: those that the manual lists first, by group, in lines of at most
// `width` characters.
std::string short_help(const CLI::App& app, const Manual& manual, size_t width);

}  // namespace mge::cli
