// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/man_page.h"

#include <CLI/CLI.hpp>

#include "apps/cli/options/definitions.h"
#include "apps/cli/tool.h"
#include "libmge/base/error.h"
#include "libmge/base/joined.h"
#include "libmge/base/letters.h"
#include "libmge/base/version.h"

namespace mge::cli {
namespace {

// Escapes text for roff.
std::string escaped(const std::string& text) {
    std::string result;
    bool line_start = true;
    for (char c : text) {
        // A dot or quote at the start of a line would be a command.
        if (line_start && (c == '.' || c == '\'')) result += "\\&";
        line_start = c == '\n';
        if (c == '\\')
            result += "\\e";
        else if (c == '-')
            result += "\\-";
        else
            result += c;
    }
    return result;
}

std::string bold(const std::string& text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + escaped(text) + "\\fR"; }

std::string choices_text(const OptionText& option) {
    std::string result;
    for (auto& choice : option.choices) result += (result.empty() ? " One of " : ", ") + choice;
    return result.empty() ? "" : result + ".";
}

std::string entry(const OptionText& option, bool positional) {
    std::string names = joined(option.names, ", ", positional ? italic : bold);
    if (!positional && !option.value.empty()) names += " " + italic(option.value);
    std::string details = option.description;
    if (!details.empty() && details.back() != '.') details += '.';
    details += choices_text(option);
    if (!option.default_value.empty()) details += " Default: " + option.default_value + ".";
    return ".TP\n" + names + "\n" + escaped(details) + "\n";
}

// Headings of groups for a tool without commands: it has many options.
std::string entries(const CLI::App& app, bool has_headings = false) {
    std::string result, group;
    for (auto& argument : arguments_of(app)) result += entry(argument, true);
    for (auto& option : options_of(app)) {
        if (has_headings && option.group != group) result += ".SS " + escaped(group = option.group) + "\n";
        result += entry(option, false);
    }
    return result;
}

std::string synopsis(const std::string& name, const CLI::App& app) {
    std::string line = bold(name);
    for (auto& argument : arguments_of(app))
        line += argument.required ? " " + italic(argument.names[0]) : " [" + italic(argument.names[0]) + "]";
    return line + " [" + italic("options") + "]\n";
}

std::string as_it_is(const std::string& text) { return ".PP\n.nf\n" + escaped(text) + "\n.fi\n"; }

std::string exit_status() {
    std::string result = ".SH EXIT STATUS\n.TP\n0\nsuccess\n";
    for (auto& code : exit_codes())
        result += ".TP\n" + std::to_string(int(code.code)) + "\n" + escaped(std::string(code.meaning)) + "\n";
    return result;
}

std::string section(const char* title, std::span<const Entry> entries) {
    if (entries.empty()) return {};
    std::string result = text(".SH ", title, "\n");
    for (auto& entry : entries) result += ".TP\n" + bold(entry.name) + "\n" + escaped(entry.meaning) + ".\n";
    return result;
}

std::string examples(const Manual& manual) {
    if (manual.examples.empty()) return {};
    std::string result = ".SH EXAMPLES\n";
    for (auto& example : manual.examples)
        result += ".TP\n" + bold(example.command) + "\n" + escaped(example.does) + ".\n";
    return result;
}

std::string see_also(const std::string& tool) {
    std::string others;
    for (std::string name : tool_names())
        if (name != tool) others += (others.empty() ? "" : ", ") + bold(name) + "(1)";
    return ".SH SEE ALSO\n" + others + "\n";
}

std::string upper(std::string name) {
    for (auto& c : name) c = capital(c);
    return name;
}

}  // namespace

std::string man_page(const CLI::App& app, const Manual& manual) {
    std::string name = app.get_name(), description = app.get_description();
    std::string summary = description.substr(0, description.find('.'));
    // No date, so that equal sources give equal pages.
    std::string page = ".TH " + upper(escaped(name)) + " 1 \"\" \"mge " + version + "\" \"MGE\"\n";
    page += ".SH NAME\n" + escaped(name) + " \\- " + escaped(summary) + "\n.SH SYNOPSIS\n";
    auto commands = commands_of(app);
    if (commands.empty()) page += synopsis(name, app);
    for (auto* command : commands)
        page += synopsis(name + " " + command->get_name(), *command) +
                (command == commands.back() ? "" : ".br\n");
    page += ".SH DESCRIPTION\n" + escaped(description) + "\n";
    if (!manual.footer.empty()) page += as_it_is(manual.footer);
    if (!commands.empty()) page += ".SH COMMANDS\n";
    for (auto* command : commands)
        page += ".SS " + escaped(command->get_name()) + "\n" + escaped(command->get_description()) + "\n" +
                entries(*command);
    page += (commands.empty() ? ".SH OPTIONS\n" : ".SH GLOBAL OPTIONS\n") + entries(app, commands.empty());
    page += exit_status();
    page += section("ENVIRONMENT", environment()) + section("FILES", manual.files) + examples(manual);
    return page + see_also(name);
}

}  // namespace mge::cli
