// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace mge::cli {

// What CLI11 found wrong, as one line that names the option or argument, the value that it was given and what
// it takes. Looks at the root and at the command that was given.
std::string message_of(const CLI::ParseError& error, const CLI::App& root);

}  // namespace mge::cli
