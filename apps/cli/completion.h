// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace CLI {
class App;
}

namespace mge::cli {

// Shell scripts that complete the commands, options and values of a tool.
std::string bash_completion(const CLI::App& app);
std::string fish_completion(const CLI::App& app);
std::string zsh_completion(const CLI::App& app);

}  // namespace mge::cli
