// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/cli/model_file.h"
#include "apps/cli/numbers.h"
#include "apps/cli/output_option.h"
#include "apps/dump/commands.h"
#include "apps/dump/written.h"
#include "libmge/model/export/onnx/onnx.h"

namespace mge::dump {
namespace {

struct ConvertOptions {
    cli::ModelFile input;
    std::string output, format;
    int opset = default_onnx_opset;
    bool no_test_cases = false;
};

std::string format_of(const ConvertOptions& options) {
    if (!options.format.empty()) return options.format;
    return std::filesystem::path(options.output).extension() == ".onnx" ? "onnx" : "mge";
}

int convert(const ConvertOptions& options, const cli::Invocation& invocation) {
    Model model = options.input.read();
    std::string format = format_of(options);
    // ONNX has no test cases.
    if (options.no_test_cases || format == "onnx") model.test_cases.clear();
    if (format == "onnx") write_onnx(options.output, model, {.opset = options.opset});
    if (format == "mge") write_model(options.output, model);
    return cli::finish(invocation, {{"input", options.input.path},
                                    {"format", format},
                                    {"output", describe_written(options.output, model)}});
}

}  // namespace

void add_convert(cli::App& app) {
    auto options = std::make_shared<ConvertOptions>();
    auto& command = app.command("convert", "Writes any model that can be read as a .mge or an ONNX file",
                                [options, &app] { return convert(*options, app.invocation()); });
    cli::add_model_file(command, options->input);
    cli::add_written_file(command, "output", options->output, "The file to write");
    command
        .add_option("--format", options->format,
                    "What to write; without it the file's ending decides: onnx for .onnx, else mge")
        ->check(CLI::IsMember({"mge", "onnx"}));
    command.add_option("--opset", options->opset, "Operator set of an ONNX file")
        ->check(cli::whole_number(least_onnx_opset, largest_onnx_opset))
        ->capture_default_str();
    command.add_flag("--no-testcases", options->no_test_cases, "Leave the test cases out");
}

}  // namespace mge::dump
