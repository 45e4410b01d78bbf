// SPDX-License-Identifier: Apache-2.0
#pragma once
// The command line of a tool: CLI11 with the flags that all tools share, MegEngine's spellings, and manual
// page and shell completion made from the same definitions.

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

    // Where a tool without subcommands defines its options.
    CLI::App& root() { return *root_; }
    Invocation& invocation() { return invocation_; }

    // A subcommand; `body` does its work. Global flags may stand before and behind its name.
    CLI::App& command(const std::string& name, const std::string& description, std::function<int()> body);

    // Reads invocation.arguments and fills in the rest of the invocation. UsageError when they are wrong;
    // Exit after --help, --version, --print-man and --print-completion.
    void parse();
    // parse(), then the work of the subcommand that was given.
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

    Invocation& invocation_;
    Manual manual_;
    std::unique_ptr<CLI::App> root_;
    std::vector<Command> commands_;
    bool wants_man_ = false;
    std::string completion_for_, flag_file_;
};

}  // namespace mge::cli
