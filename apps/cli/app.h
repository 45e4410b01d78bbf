// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command line of a tool: CLI11 with the flags that all tools share and MegEngine's spellings. The manual
// page and shell completion are generated from the same definitions.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/cli/manual.h"
#include "apps/cli/tool.h"

namespace CLI {
class App;
}

namespace mge::cli {

class App {
public:
    App(Invocation& invocation, Manual manual);
    ~App();
    App(const App&) = delete;
    App& operator=(const App&) = delete;

    // A tool without subcommands defines its options here.
    CLI::App& root() { return *root_; }
    Invocation& invocation() { return invocation_; }

    // Adds a subcommand that `body` implements. Global flags may precede or follow its name.
    CLI::App& command(const std::string& name, const std::string& description, std::function<int()> body);

    // Parses invocation.arguments and fills in the rest of the invocation. Throws UsageError for wrong
    // arguments, and Exit after --help, --version, --print-man and --print-completion.
    void parse();
    // Calls parse(), then the body of the given subcommand.
    int run();

private:
    struct Command {
        CLI::App* app;
        std::function<int()> body;
    };
    void add_global_flags();
    void rewrite_arguments();
    void parse_arguments();
    void print_on_request();
    void check_output_places();
    [[noreturn]] void fail_on_unknown();
    [[noreturn]] void fail_without_command();
    std::string help_with_commands() const;

    Invocation& invocation_;
    Manual manual_;
    std::unique_ptr<CLI::App> root_;
    std::vector<Command> commands_;
    bool wants_man_ = false;
    std::string completion_for_, flag_file_;
};

}  // namespace mge::cli
