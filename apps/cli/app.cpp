// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/app.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <set>
#include <sstream>
#include <utility>

#include "apps/cli/completion.h"
#include "apps/cli/man_page.h"
#include "apps/cli/options/arguments.h"
#include "apps/cli/options/definitions.h"
#include "apps/cli/options/numbers.h"
#include "apps/cli/options/one_of.h"
#include "apps/cli/options/output_option.h"
#include "apps/cli/output/commit.h"
#include "apps/cli/output/fitting_lines.h"
#include "apps/cli/output/progress.h"
#include "apps/cli/output/terminal.h"
#include "apps/cli/parse_error.h"
#include "apps/cli/short_help.h"
#include "libmge/base/error.h"
#include "libmge/base/files/file_limit.h"
#include "libmge/base/joined.h"
#include "libmge/base/version.h"

namespace mge::cli {
namespace {

// The Levenshtein distance of a and b.
size_t distance(const std::string& a, const std::string& b) {
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row.back();
}

// Returns the most similar name, or an empty string if none is close.
std::string nearest(const std::string& given, const std::set<std::string>& names) {
    std::string best;
    size_t least = given.size() < 4 ? 2 : std::max<size_t>(2, given.size() / 3) + 1;
    for (auto& name : names)
        if (size_t d = distance(given, name); d < least) least = d, best = name;
    return best;
}

struct OptionNames {
    std::set<std::string> all, flags, lists;  // without dashes
    void add(const CLI::App& app) {
        for (auto* option : app.get_options())
            for (auto& name : option->get_lnames()) {
                if (!option->get_group().empty()) all.insert(name);
                if (option->get_items_expected_max() == 0) flags.insert(name);
                if (option->get_delimiter() == ',') lists.insert(name);
            }
    }
};

}  // namespace

App::App(Invocation& invocation, Manual manual)
    : invocation_(invocation),
      manual_(std::move(manual)),
      root_(std::make_unique<CLI::App>(manual_.description, invocation.tool)) {
    std::string examples = examples_text(manual_);
    root_->footer(manual_.footer + (manual_.footer.empty() || examples.empty() ? "" : "\n\n") + examples);
    // As in MegEngine's tools, the last of several values counts. Commands and their options inherit this.
    root_->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    add_global_flags();
}

App::~App() = default;

void App::add_global_flags() {
    constexpr auto group = global_group;
    auto& app = *root_;
    bool is_short = !manual_.first_options.empty();
    app.set_help_flag("-h,--help",
                      is_short ? "Print the most used options and exit" : "Print this help and exit")
        ->group(group);
    if (is_short) app.set_help_all_flag("--help-all", "Print all options and exit")->group(group);
    auto* report =
        app.add_option("--json", invocation_.json, "Write the report as JSON to a file, or to stdout with -");
    replaces(written(report), "--baseline")->type_name("FILE|-")->group(group);
    app.add_flag("--quiet", invocation_.quiet, "Print errors only")->group(group);
    app.add_flag("--verbose", invocation_.verbose, "Print more details")->group(group);
    app.add_flag("--no-color", invocation_.no_color, "No colours (as with the environment variable NO_COLOR)")
        ->group(group);
    app.add_flag("--wide", invocation_.wide,
                 "Neither wrap lines nor drop columns of tables to fit the terminal")
        ->group(group);
    // Only for the help: rewrite_arguments() has expanded the files already.
    app.add_option("--flagfile", flag_file_, "Read flags from a file, one per line; # starts a comment")
        ->type_name("FILE")
        ->group(group);
    auto limit_files = [](const std::string& size) { set_file_limit(parse_bytes("--file-limit", size)); };
    app.add_option_function<std::string>(
           "--file-limit", limit_files,
           "Memory that reading one file may allocate, unless the file itself is larger")
        ->default_str("1GiB")
        ->type_name("SIZE")
        ->group(group);
    app.set_version_flag("--version", invocation_.tool + ' ' + version + commit_text())->group(group);
    app.add_flag("--print-man", wants_man_)->group("");
    app.add_option("--print-completion", completion_for_)->group("")->check(one_of({"bash", "fish", "zsh"}));
}

CLI::App& App::command(const std::string& name, const std::string& description, std::function<int()> body) {
    auto* command = root_->add_subcommand(name, description);
    command->fallthrough();
    command->footer("Global options (" + invocation_.tool + " --help) are allowed here too.");
    root_->require_subcommand(1, 1);
    commands_.push_back({command, std::move(body)});
    return *command;
}

void App::rewrite_arguments() {
    auto& arguments = invocation_.arguments;
    arguments = expand_flag_files(arguments);
    refuse_empty_values(arguments);
    OptionNames names;
    names.add(*root_);
    for (auto& command : commands_) names.add(*command.app);
    rewrite_negated_flags(arguments, names.flags, names.all);
    rewrite_truths(arguments, names.flags);
    refuse_empty_entries(arguments, names.lists);
    // Set before the rest is parsed, for errors there.
    invocation_.json = value_of("--json", arguments);
    allow_terminal(true, std::ranges::find(arguments, "--no-color") == arguments.end());
}

void App::fail_on_unknown() {
    auto extra = root_->remaining(true);
    if (extra.size() == 1 && extra[0] == "--" && !commands_.empty())
        throw UsageError("'--' comes before the command",
                         "put it after the command and before file names with dashes");
    // Everything after "--" is positional.
    bool follows_separator = extra.size() > 1 && extra[0] == "--";
    std::string given = extra.at(follows_separator), help = invocation_.tool + " --help lists all";
    bool is_option = !follows_separator && given.size() > 1 && given[0] == '-';
    OptionNames names;
    names.add(*root_);
    for (auto* command : root_->get_subcommands()) names.add(*command);
    bool in_command = !root_->get_subcommands().empty();
    if (!is_option) {
        names.all.clear();
        for (auto& command : commands_) names.all.insert(command.app->get_name());
    }
    std::string what = is_option                         ? "option"
                       : commands_.empty() || in_command ? "further argument"
                                                         : "command";
    if (std::error_code error; what == "command" && std::filesystem::exists(given, error))
        throw UsageError(text("no command comes before the file '", given, "'"), help_with_commands());
    std::string bare = is_option ? given.substr(std::min(given.find_first_not_of('-'), given.size())) : given;
    std::string meant = what == "further argument" ? "" : nearest(bare.substr(0, bare.find('=')), names.all);
    if (!meant.empty()) help = text("did you mean '", is_option ? "--" : "", meant, "'? ", help);
    throw UsageError(text("there is no ", what, " '", given, "'"), help);
}

void App::fail_without_command() { throw UsageError("a command is missing", help_with_commands()); }

std::string App::help_with_commands() const {
    auto names = joined(commands_, ", ", [](auto& command) { return command.app->get_name(); });
    return text("give one of ", names, ", or --help");
}

void App::parse_arguments() {
    auto& arguments = invocation_.arguments;
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    try {
        root_->parse(reversed);
    } catch (const CLI::CallForHelp& e) {
        size_t width = terminal_width(STDOUT_FILENO, SIZE_MAX);
        if (manual_.first_options.empty())
            std::cout << wrapped_at_blanks(root_->help(), width);
        else
            std::cout << short_help(*root_, manual_, width);
        throw Exit{0};
    } catch (const CLI::Success& e) {  // --help-all, --version
        std::ostringstream shown;
        int code = root_->exit(e, shown, shown);
        std::cout << wrapped_at_blanks(shown.str(), terminal_width(STDOUT_FILENO, SIZE_MAX));
        throw Exit{code};
    } catch (const CLI::ExtrasError&) {
        fail_on_unknown();
    } catch (const CLI::ParseError& e) {
        if (wants_man_ || !completion_for_.empty()) return;  // these need nothing else
        // A missing argument is often a mistyped one.
        bool is_missing = dynamic_cast<const CLI::RequiredError*>(&e);
        if (is_missing && !root_->remaining(true).empty()) fail_on_unknown();
        if (!commands_.empty() && root_->get_subcommands().empty()) fail_without_command();
        throw UsageError(message_of(e, *root_), invocation_.tool + " --help lists what is expected");
    }
}

// Checks outputs before the work, which may take long.
void App::check_output_places() {
    std::vector<const CLI::App*> apps{root_.get()};
    for (auto* command : root_->get_subcommands()) apps.push_back(command);
    try {
        refuse_same_outputs(apps);
    } catch (const UsageError&) {
        invocation_.json.clear();  // the report would be one of the two
        throw;
    }
    refuse_unwritable(apps, invocation_.json);
    invocation_.writes_files = names_output(apps);
}

void App::print_on_request() {
    if (wants_man_)
        std::cout << man_page(*root_, manual_);
    else if (completion_for_ == "bash")
        std::cout << bash_completion(*root_);
    else if (completion_for_ == "fish")
        std::cout << fish_completion(*root_);
    else if (completion_for_ == "zsh")
        std::cout << zsh_completion(*root_);
    else
        return;
    throw Exit{0};
}

void App::parse() {
    rewrite_arguments();
    parse_arguments();
    if (invocation_.quiet && invocation_.verbose)
        throw UsageError("--quiet contradicts --verbose", "give one of them");
    allow_terminal(!invocation_.quiet, !invocation_.no_color);
    print_on_request();
    check_output_places();
    direct_text(invocation_);
}

int App::run() {
    parse();
    for (auto& command : commands_)
        if (command.app->parsed()) {
            Activity activity(invocation_.tool + ' ' + command.app->get_name());
            return command.body();
        }
    throw InternalError("no command was parsed");
}

}  // namespace mge::cli
