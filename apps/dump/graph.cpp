// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/cli/files/model_file.h"
#include "apps/cli/options/numbers.h"
#include "apps/cli/options/one_of.h"
#include "apps/cli/options/output_option.h"
#include "apps/cli/output/table.h"
#include "apps/dump/commands.h"
#include "apps/dump/graph_picture.h"
#include "apps/dump/written.h"
#include "libmge/base/files/file.h"
#include "libmge/graph/origins.h"
#include "libmge/inspect/value_names.h"

namespace mge::dump {
namespace {

struct GraphOptions {
    cli::ModelFile input;
    std::string output = "-", format;
    PictureOptions picture;
};

std::string format_of(const GraphOptions& options) {
    if (!options.format.empty()) return options.format;
    std::string ending = std::filesystem::path(options.output).extension();
    if (ending.empty() || ending == ".dot" || ending == ".gv") return "dot";
    if (ending == ".svg" || ending == ".json") return ending.substr(1);
    if (ending == ".txt") return "text";
    throw cli::UsageError(text("'", options.output, "' names no format"),
                          "end it in .dot, .gv, .svg, .txt or .json, or give --format");
}

std::string render(const Graph& graph, const std::string& format, const PictureOptions& options) {
    if (format == "text") return to_text(name_values(graph));
    if (format == "json") return to_json(graph);
    std::string dot = dot_text(graph, options);
    return format == "svg" ? svg_from_dot(dot) : dot;
}

// The file name and the part that is drawn.
std::string title(const GraphOptions& options, const Graph& graph) {
    std::string file = std::filesystem::path(options.input.path).filename().string();
    auto& around = options.picture.around;
    if (!around.empty()) return text(file, ": near '", around, "'");
    return text(file, ": ", cli::counted(graph.nodes().size(), "operator"));
}

int run(GraphOptions options, const cli::Invocation& invocation) {
    Model model = options.input.read();
    note_origins(model.graph);
    options.picture.title = title(options, model.graph);
    std::string format = format_of(options), data = render(model.graph, format, options.picture);
    cli::write_output(invocation, options.output, [&](std::ostream& stream) { stream << data; });
    if (options.output != "-")
        std::cout << "wrote " << cli::counted(model.graph.nodes().size(), "operator") << " as " << format
                  << " to '" << options.output << "'\n";
    return cli::finish(invocation, {{"input", options.input.path},
                                    {"output", options.output},
                                    {"format", format},
                                    {"operators", model.graph.nodes().size()},
                                    {"bytes", data.size()}});
}

}  // namespace

void add_graph(cli::App& app) {
    auto options = std::make_shared<GraphOptions>();
    auto& command = app.command("graph", "Draws the graph as DOT or SVG, or prints it as text or JSON",
                                [options, &app] { return run(*options, app.invocation()); });
    cli::add_model_file(command, options->input);
    cli::written(command.add_option("output", options->output, "The file to write, - for stdout"))
        ->type_name("FILE")
        ->capture_default_str();
    command
        .add_option("--format", options->format,
                    "Output format; default: by the file's extension, else dot. svg needs Graphviz")
        ->check(cli::one_of({"dot", "svg", "text", "json"}));
    command.add_flag("--constants", options->picture.constants, "Draw weights, too");
    command.add_flag("--params", options->picture.params, "Show the parameters of operators");
    command
        .add_option("--around", options->picture.around,
                    "Draw only the operator or value of this name and its neighbourhood")
        ->type_name("NAME");
    command
        .add_option("--depth", options->picture.depth, "Size of the neighbourhood of --around in operators")
        ->check(cli::whole_number(0, 1'000'000))
        ->capture_default_str();
}

}  // namespace mge::dump
