// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/completion.h"

#include <CLI/CLI.hpp>

#include "apps/cli/options/definitions.h"
#include "apps/cli/output/table.h"
#include "libmge/base/joined.h"

namespace mge::cli {
namespace {

std::string command_names(const CLI::App& app, const std::string& separator) {
    std::vector<std::string> names;
    for (auto* command : commands_of(app)) names.push_back(command->get_name());
    return joined(names, separator);
}

std::vector<OptionText> with_globals(const CLI::App& root, const CLI::App* command) {
    std::vector<OptionText> options = options_of(root);
    if (command)
        for (auto& option : options_of(*command))
            if (option.names[0] != "--help") options.push_back(option);
    return options;
}

std::string shell_function(std::string name) {
    for (auto& c : name)
        if (c == '-') c = '_';
    return "_" + name;
}

// Branches of bash's `case` for one command: completions of an option's value.
std::string bash_values(const CLI::App& root, const CLI::App* command) {
    std::string result, of = (command ? command->get_name() : "") + ",";
    for (auto& option : with_globals(root, command)) {
        if (option.value.empty()) continue;
        std::string action = option.takes_file        ? "_mge_files"
                             : option.choices.empty() ? ":"
                                                      : "_mge_reply -W '" + joined(option.choices, " ") + "'";
        result += "        " + of + joined(option.names, "|" + of) + ") " + action + "; return ;;\n";
    }
    return result;
}

// Branches for the option names.
std::string bash_options(const CLI::App& root, const CLI::App* command) {
    std::vector<std::string> names;
    for (auto& option : with_globals(root, command))
        for (auto& name : option.names)
            if (name.starts_with("--")) names.push_back(name);
    return "        " + (command ? command->get_name() : "") + ",-*) _mge_reply -W '" + joined(names, " ") +
           "'; return ;;\n";
}

// Quotes text in single quotes.
std::string fish_text(const std::string& text) {
    std::string result = "'";
    for (char c : text) {
        if (c == '\'' || c == '\\') result += '\\';
        result += c == '\n' ? ' ' : c;
    }
    return result + "'";
}

// One line per option. `condition` selects the command.
std::string fish_options(const std::string& tool, const std::string& condition,
                         const std::vector<OptionText>& options) {
    std::string result;
    for (auto& option : options) {
        result += "complete -c " + tool + condition;
        for (auto& name : option.names)
            result += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
        if (!option.choices.empty())
            result += " -x -a " + fish_text(joined(option.choices, " "));
        else if (!option.value.empty())
            result += option.takes_file ? " -r -F" : " -x";
        result += " -d " + fish_text(option.description) + "\n";
    }
    return result;
}

// Escapes text for zsh's _arguments, which interprets brackets, colons and quotes.
std::string zsh_text(const std::string& text) {
    std::string result;
    for (char c : text) {
        if (c == '\'') {
            result += "'\\''";
            continue;
        }
        if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
        result += c == '\n' ? ' ' : c;
    }
    return result;
}

std::string zsh_action(const OptionText& option) {
    if (!option.choices.empty()) return "(" + joined(option.choices, " ") + ")";
    return option.takes_file ? "_files" : " ";
}

std::string zsh_arguments(const CLI::App& root, const CLI::App* command) {
    std::string result = "_arguments";
    for (auto& option : with_globals(root, command))
        for (auto& name : option.names) {
            bool has_value = !option.value.empty();
            result += " \\\n        '" + name + (has_value && name.starts_with("--") ? "=" : "") + "[" +
                      zsh_text(option.description) + "]" +
                      (has_value ? ":" + zsh_text(option.value) + ":" + zsh_action(option) : "") + "'";
        }
    return result + " \\\n        '*:file:_files'\n";
}

}  // namespace

std::string bash_completion(const CLI::App& app) {
    std::string name = app.get_name(), function = shell_function(name);
    auto commands = commands_of(app);
    std::string find_command;
    if (!commands.empty())
        find_command = "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n        case $word in " +
                       command_names(app, "|") + ") command=$word; break ;; esac\n    done\n";
    std::string values, options;
    for (auto* command : commands) {
        values += bash_values(app, command);
        options += bash_options(app, command);
    }
    values += bash_values(app, nullptr);
    options += bash_options(app, nullptr);
    // Completes the text before the word, too: bash splits "--name=" at the equals sign.
    return "# bash completion for " + name + ", made by it\n" + function + "() {\n" +
           "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= word\n"
           "    _mge_reply() { COMPREPLY=($(compgen \"$@\" -- \"$current\")); }\n"
           "    _mge_files() { compopt -o filenames 2>/dev/null; local IFS=$'\\n'; _mge_reply -f; }\n"
           "    COMPREPLY=()\n"
           "    if [[ $current == = ]]; then current=; fi\n"
           "    if [[ $previous == = ]]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi\n" +
           find_command + "    case $command,$previous in\n" + values +
           "    esac\n    case $command,$current in\n" + options + "    esac\n" +
           (commands.empty() ? ""
                             : "    if [[ -z $command ]]; then _mge_reply -W '" + command_names(app, " ") +
                                   "'; return; fi\n") +
           "    _mge_files\n}\ncomplete -F " + function + " " + name + "\n";
}

std::string fish_completion(const CLI::App& app) {
    std::string name = app.get_name(), result = "# fish completion for " + name + ", made by it\n";
    result += fish_options(name, "", options_of(app));
    for (auto* command : commands_of(app)) {
        std::string word = command->get_name();
        result += "complete -c " + name + " -f -n __fish_use_subcommand -a " + word + " -d " +
                  fish_text(command->get_description()) + "\n";
        auto options = options_of(*command);
        std::erase_if(options, [](auto& option) { return option.names[0] == "--help"; });
        result += fish_options(name, " -n '__fish_seen_subcommand_from " + word + "'", options);
    }
    return result;
}

std::string zsh_completion(const CLI::App& app) {
    std::string name = app.get_name(), result = "#compdef " + name + "\n# made by " + name + "\n";
    auto commands = commands_of(app);
    if (commands.empty()) return result + zsh_arguments(app, nullptr);
    result += "local command= word\nfor word in \"${(@)words[2,CURRENT-1]}\"; do\n    case $word in " +
              command_names(app, "|") + ") command=$word; break ;; esac\ndone\ncase $command in\n";
    for (auto* command : commands)
        result += "    " + command->get_name() + ") " + zsh_arguments(app, command) + "        ;;\n";
    result += "    *) if [[ $words[CURRENT] == -* ]]; then\n        " + zsh_arguments(app, nullptr) +
              "    else\n        local -a commands=(\n";
    for (auto* command : commands)
        result += "            '" + command->get_name() + ":" + zsh_text(command->get_description()) + "'\n";
    return result + "        )\n        _describe command commands\n    fi ;;\nesac\n";
}

}  // namespace mge::cli
