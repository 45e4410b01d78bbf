// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace mge::cli {

// The heading of options that all tools have.
inline constexpr auto global_group = "Global options";

// The properties of an option or argument that the manual page and completion need.
struct OptionText {
    std::vector<std::string> names;    // with dashes; an argument has one name without
    std::string value;                 // "FILE", "N", …; empty for a flag
    std::vector<std::string> choices;  // the valid values, if they are few
    bool takes_file = false;
    bool is_list = false;  // an argument that may be several words
    bool required = false;
    std::string description, default_value;
    std::string group;  // heading in --help-all and in the manual page
};

OptionText text_of(const CLI::Option& option);

// The visible options, arguments and subcommands of a command, in order of definition.
std::vector<OptionText> options_of(const CLI::App& app);
std::vector<OptionText> arguments_of(const CLI::App& app);
std::vector<const CLI::App*> commands_of(const CLI::App& app);

}  // namespace mge::cli
