// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace CLI {
class App;
}

namespace mge::cli {

// The manual page of a tool, in roff.
std::string man_page(const CLI::App& app);

}  // namespace mge::cli
