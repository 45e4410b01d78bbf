// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "apps/cli/files/model_file.h"
#include "apps/cli/options/numbers.h"
#include "apps/cli/options/one_of.h"
#include "apps/cli/options/output_option.h"
#include "apps/dump/commands.h"
#include "apps/dump/written.h"
#include "libmge/base/log.h"
#include "libmge/model/export/onnx/onnx.h"

namespace mge::dump {
namespace {

struct ConvertOptions {
    cli::ModelFile input;
    std::string output, format;
    std::optional<int> opset;
    bool no_test_cases = false;
};

// File extensions of other model formats.
constexpr std::string_view foreign_endings[] = {
    ".caffemodel", ".ckpt", ".engine", ".h5",     ".keras",       ".mlmodel", ".param", ".pb", ".pkl",
    ".plan",       ".pt",   ".pth",    ".tflite", ".safetensors", ".tm",      ".torch", ".xml"};

std::string format_of(const ConvertOptions& options) {
    if (!options.format.empty()) return options.format;
    std::string ending = std::filesystem::path(options.output).extension();
    if (std::ranges::find(foreign_endings, ending) != std::end(foreign_endings))
        throw cli::UsageError(text("'", options.output, "': cannot write ", ending,
                                   " files; the formats are mge (.mge) and onnx (.onnx)"),
                              "give another ending, or --format");
    return ending == ".onnx" ? "onnx" : "mge";
}

int convert(const ConvertOptions& options, const cli::Invocation& invocation) {
    std::string format = format_of(options);
    Model model = options.input.read();
    auto without_effect = cli::Json::array();
    if (options.opset && format != "onnx") {
        log_warning("mge-dump: --opset has no effect: a .mge file has no operator set");
        without_effect.push_back("--opset");
    }
    // ONNX files have no test cases.
    if (options.no_test_cases || format == "onnx") model.test_cases.clear();
    if (format == "onnx")
        write_onnx(options.output, model, {.opset = options.opset.value_or(default_onnx_opset)});
    if (format == "mge") write_model(options.output, model);
    return cli::finish(invocation, {{"input", options.input.path},
                                    {"format", format},
                                    {"options_without_effect", without_effect},
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
                    "Output format; default: by the file's extension: onnx for .onnx, else mge")
        ->check(cli::one_of({"mge", "onnx"}));
    command.add_option("--opset", options->opset, "Operator set of an ONNX file")
        ->check(cli::whole_number(least_onnx_opset, largest_onnx_opset))
        ->default_str(text(default_onnx_opset));
    command.add_flag("--no-testcases", options->no_test_cases, "Leave out the test cases");
}

}  // namespace mge::dump
