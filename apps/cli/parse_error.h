// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace mge::cli {

// Describes a CLI11 error in one line with the option or argument, its value and the accepted values.
// Searches the root and the given command.
std::string message_of(const CLI::ParseError& error, const CLI::App& root);

}  // namespace mge::cli
