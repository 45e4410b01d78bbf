// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/parse_error.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "apps/cli/options/definitions.h"
#include "apps/cli/output/table.h"
#include "libmge/base/joined.h"
#include "libmge/base/text.h"

namespace mge::cli {
namespace {

std::string on_one_line(std::string message) {
    std::ranges::replace(message, '\n', ' ');
    while (!message.empty() && message.back() == ' ') message.pop_back();
    return message;
}

// Returns the option or argument that a message is about: CLI11 starts messages with its name.
const CLI::Option* option_of(const std::string& message, const CLI::App& root) {
    auto apps = root.get_subcommands();
    apps.push_back(const_cast<CLI::App*>(&root));
    std::string_view rest = message;
    if (constexpr std::string_view unconverted = "Could not convert: "; rest.starts_with(unconverted))
        rest.remove_prefix(unconverted.size());
    std::string name(rest.substr(0, rest.find_first_of(": ")));
    for (auto* app : apps)
        for (auto* option : app->get_options())
            if (option->get_name(false, false) == name || option->get_name(true) == name) return option;
    return nullptr;
}

std::string expected_text(const OptionText& option) {
    if (!option.choices.empty()) return "one of " + joined(option.choices, ", ");
    return option.value;
}

}  // namespace

std::string message_of(const CLI::ParseError& error, const CLI::App& root) {
    std::string message = on_one_line(error.what());
    auto* option = option_of(message, root);
    if (!option) return message;
    OptionText shown = text_of(*option);
    std::string name = shown.names.front(), expected = expected_text(shown);
    if (dynamic_cast<const CLI::RequiredError*>(&error))
        return text(option->get_positional() ? "the argument " : "", name, " is missing");
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error)) return text(name, " needs a value: ", expected);
    if (dynamic_cast<const CLI::ExcludesError*>(&error))
        return text(name, " contradicts ", message.substr(message.rfind(' ') + 1), "; give one of them");
    if (dynamic_cast<const CLI::ConversionError*>(&error))
        return text(name, ": '", joined(option->results(), " "), "' is not an allowed value: ", expected);
    return message;
}

}  // namespace mge::cli
