// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "apps/cli/model_file.h"
#include "apps/cli/output_option.h"
#include "apps/dump/commands.h"
#include "apps/dump/written.h"

namespace mge::dump {
namespace {

struct Options {
    cli::ModelFile input;
    std::string output;
    bool no_test_cases = false;
};

int convert(const Options& options, const cli::Invocation& invocation) {
    Model model = options.input.read();
    if (options.no_test_cases) model.test_cases.clear();
    return cli::finish(
        invocation, {{"input", options.input.path}, {"output", write_and_describe(options.output, model)}});
}

}  // namespace

void add_convert(cli::App& app) {
    auto options = std::make_shared<Options>();
    auto& command = app.command("convert", "Writes any model that can be read as a .mge file",
                                [options, &app] { return convert(*options, app.invocation()); });
    cli::add_model_file(command, options->input);
    cli::written(command.add_option("output", options->output, "The .mge file to write"))
        ->required()
        ->type_name("FILE");
    command.add_flag("--no-testcases", options->no_test_cases, "Leave the test cases out");
}

}  // namespace mge::dump
