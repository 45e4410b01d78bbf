// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace mge::cli {

// Describes an error of CLI11 in one line that names the option or argument, its value and the values that it
// takes. Looks at the root and at the command that was given.
std::string message_of(const CLI::ParseError& error, const CLI::App& root);

}  // namespace mge::cli
