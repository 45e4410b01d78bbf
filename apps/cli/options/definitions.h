// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace mge::cli {

// What manual page and completion need to know of an option or argument.
struct OptionText {
    std::vector<std::string> names;    // with their dashes; an argument has its one name without
    std::string value;                 // "FILE", "N", …; empty for a flag
    std::vector<std::string> choices;  // the values there are, when they are few
    bool takes_file = false;
    bool required = false;
    std::string description, default_value;
};

OptionText text_of(const CLI::Option& option);

// Those of one command that a user may see, in the order of their definition.
std::vector<OptionText> options_of(const CLI::App& app);
std::vector<OptionText> arguments_of(const CLI::App& app);
std::vector<const CLI::App*> commands_of(const CLI::App& app);

}  // namespace mge::cli
