// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/man_page.h"

#include <CLI/CLI.hpp>

#include "apps/cli/definitions.h"
#include "apps/cli/tool.h"
#include "libmge/base/version.h"

namespace mge::cli {
namespace {

// Text that roff prints as it is.
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
    std::string names;
    for (auto& name : option.names)
        names += (names.empty() ? "" : ", ") + (positional ? italic(name) : bold(name));
    if (!positional && !option.value.empty()) names += " " + italic(option.value);
    std::string details = option.description;
    if (!details.empty() && details.back() != '.') details += '.';
    details += choices_text(option);
    if (!option.default_value.empty()) details += " Default: " + option.default_value + ".";
    return ".TP\n" + names + "\n" + escaped(details) + "\n";
}

std::string entries(const CLI::App& app) {
    std::string result;
    for (auto& argument : arguments_of(app)) result += entry(argument, true);
    for (auto& option : options_of(app)) result += entry(option, false);
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

std::string upper(std::string name) {
    for (auto& c : name) c = char(std::toupper(uint8_t(c)));
    return name;
}

}  // namespace

std::string man_page(const CLI::App& app) {
    std::string name = app.get_name(), description = app.get_description();
    std::string summary = description.substr(0, description.find('.'));
    // No date: the page of the same source is always the same.
    std::string page = ".TH " + upper(escaped(name)) + " 1 \"\" \"mge " + version + "\" \"MGE\"\n";
    page += ".SH NAME\n" + escaped(name) + " \\- " + escaped(summary) + "\n.SH SYNOPSIS\n";
    auto commands = commands_of(app);
    if (commands.empty()) page += synopsis(name, app);
    for (auto* command : commands)
        page += synopsis(name + " " + command->get_name(), *command) +
                (command == commands.back() ? "" : ".br\n");
    page += ".SH DESCRIPTION\n" + escaped(description) + "\n";
    if (!app.get_footer().empty()) page += as_it_is(app.get_footer());
    if (!commands.empty()) page += ".SH COMMANDS\n";
    for (auto* command : commands)
        page += ".SS " + escaped(command->get_name()) + "\n" + escaped(command->get_description()) + "\n" +
                entries(*command);
    page += (commands.empty() ? ".SH OPTIONS\n" : ".SH GLOBAL OPTIONS\n") + entries(app);
    return page + exit_status();
}

}  // namespace mge::cli
