// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/short_help.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>

#include "apps/cli/options/definitions.h"
#include "apps/cli/output/table.h"
#include "libmge/base/joined.h"

namespace mge::cli {
namespace {

constexpr size_t name_width = 30;
constexpr size_t shown_examples = 3;

// Returns the description up to its first break. The full text is in --help-all.
std::string summary_of(const OptionText& option, const std::string& meaning) {
    if (!meaning.empty()) return meaning;
    auto& text = option.description;
    return text.substr(0, std::min({text.size(), text.find("; "), text.find(". ")}));
}

std::string lines_of(const OptionText& option, const std::string& summary, size_t width) {
    std::string name = "  " + option.names.front();
    if (!option.value.empty())
        name += ' ' + (option.choices.empty() ? option.value : joined(option.choices, "|"));
    // A long name gets a line of its own.
    std::string result = name.size() + 2 > name_width ? name + '\n' : std::string();
    std::string margin = result.empty() ? name : std::string();
    for (auto& line : wrapped(summary, width == SIZE_MAX ? width : width - name_width)) {
        margin.resize(name_width, ' ');
        result += margin + line + '\n';
        margin.clear();
    }
    return result;
}

// The options in their order, those of all tools at the end.
std::vector<OptionText> in_order(const CLI::App& app) {
    auto options = options_of(app);
    std::ranges::stable_partition(options, [](auto& option) { return option.group != global_group; });
    return options;
}

}  // namespace

std::string short_help(const CLI::App& app, const Manual& manual, size_t width) {
    width = std::max(width, 2 * name_width);
    std::string result;
    for (auto& line : wrapped(app.get_description(), width)) result += line + '\n';
    result += "\nUsage: " + app.get_name();
    for (auto& argument : arguments_of(app))
        result += ' ' + argument.names[0] + (argument.is_list ? "..." : "");
    result += " [options]\n";
    std::string group;
    size_t shown = 0;
    auto options = in_order(app);
    for (auto& option : options) {
        auto known = std::ranges::find(manual.first_options, option.names[0], &Entry::name);
        if (known == manual.first_options.end()) continue;
        if (option.group != group) result += (group = option.group) + '\n';
        result += lines_of(option, summary_of(option, known->meaning), width);
        ++shown;
    }
    result += "Examples\n";
    for (size_t i = 0; i < std::min(shown_examples, manual.examples.size()); ++i)
        result += "  " + manual.examples[i].command + '\n';
    return result + text(app.get_name(), " --help-all lists ", options.size() - shown, " further options.\n");
}

}  // namespace mge::cli
