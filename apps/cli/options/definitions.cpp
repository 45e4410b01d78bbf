// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/options/definitions.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <sstream>

namespace mge::cli {
namespace {

std::vector<std::string> split(const std::string& list, char separator) {
    std::vector<std::string> words;
    std::istringstream stream(list);
    for (std::string word; std::getline(stream, word, separator);) words.push_back(word);
    return words;
}

// CLI11 formats the values of IsMember as "TEXT:{a,b}"; ours, checked elsewhere, are "a|b". Literal values
// are in lower case.
std::vector<std::string> choices_in(const std::string& type) {
    size_t begin = type.find(":{"), end = type.rfind('}');
    if (begin != type.npos && end != type.npos) return split(type.substr(begin + 2, end - begin - 2), ',');
    bool is_list = type.find('|') != type.npos && std::ranges::none_of(type, [](char c) {
                       return std::isupper(uint8_t(c)) || c == '.' || c == '[';
                   });
    return is_list ? split(type, '|') : std::vector<std::string>();
}

// "N:INT in [1 - 10]" → "N". Validator texts follow a colon, but names may contain colons, too.
std::string without_validators(const std::string& type) {
    constexpr std::string_view validators[] = {":{",    ":INT",    ":UINT",  ":FLOAT",       ":TEXT",
                                               ":FILE", ":NUMBER", ":PATH(", ":NONNEGATIVE", ":POSITIVE"};
    size_t end = type.size();
    for (auto validator : validators) end = std::min(end, type.find(validator));
    return type.substr(0, end);
}

std::vector<OptionText> collect(const CLI::App& app, bool positional) {
    std::vector<OptionText> result;
    for (auto* option : app.get_options())
        if (option->get_positional() == positional && !option->get_group().empty())
            result.push_back(text_of(*option));
    return result;
}

}  // namespace

OptionText text_of(const CLI::Option& option) {
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
    text.is_list = option.get_positional() && option.get_expected_max() > 1;
    text.required = option.get_required();
    text.description = option.get_description();
    text.default_value = option.get_default_str();
    text.group = option.get_group();
    return text;
}

std::vector<OptionText> options_of(const CLI::App& app) { return collect(app, false); }
std::vector<OptionText> arguments_of(const CLI::App& app) { return collect(app, true); }

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

}  // namespace mge::cli
