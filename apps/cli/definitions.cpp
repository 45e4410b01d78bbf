// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/definitions.h"

#include <CLI/CLI.hpp>

namespace mge::cli {
namespace {

// CLI11 writes the values of IsMember as "TEXT:{a,b}".
std::vector<std::string> choices_in(const std::string& type) {
    size_t begin = type.find(":{"), end = type.rfind('}');
    std::vector<std::string> choices;
    if (begin == type.npos || end == type.npos) return choices;
    std::istringstream list(type.substr(begin + 2, end - begin - 2));
    for (std::string choice; std::getline(list, choice, ',');) choices.push_back(choice);
    return choices;
}

// "N:INT in [1 - 10]" → "N": what validators say stands behind a colon, which names may have themselves.
std::string without_validators(const std::string& type) {
    constexpr std::string_view validators[] = {":{",    ":INT",    ":UINT",  ":FLOAT",       ":TEXT",
                                               ":FILE", ":NUMBER", ":PATH(", ":NONNEGATIVE", ":POSITIVE"};
    size_t end = type.size();
    for (auto validator : validators) end = std::min(end, type.find(validator));
    return type.substr(0, end);
}

OptionText describe(const CLI::Option& option) {
    OptionText text;
    for (auto& name : option.get_lnames()) text.names.push_back("--" + name);
    for (auto& name : option.get_snames()) text.names.push_back("-" + name);
    if (option.get_positional()) text.names = {option.get_name(true)};
    if (option.get_items_expected_max() != 0) {
        std::string type = option.get_type_name();
        text.choices = choices_in(type);
        text.value = without_validators(type);
        for (auto* word : {"FILE", "DIR", "MODEL", "FOLDER", "PATH"})
            text.takes_file |= text.value.find(word) != text.value.npos;
    }
    text.required = option.get_required();
    text.description = option.get_description();
    text.default_value = option.get_default_str();
    return text;
}

std::vector<OptionText> collect(const CLI::App& app, bool positional) {
    std::vector<OptionText> result;
    for (auto* option : app.get_options())
        if (option->get_positional() == positional && !option->get_group().empty())
            result.push_back(describe(*option));
    return result;
}

}  // namespace

std::vector<OptionText> options_of(const CLI::App& app) { return collect(app, false); }
std::vector<OptionText> arguments_of(const CLI::App& app) { return collect(app, true); }

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

}  // namespace mge::cli
