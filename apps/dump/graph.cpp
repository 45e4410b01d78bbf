// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <utility>

#include "apps/cli/files/model_file.h"
#include "apps/cli/options/numbers.h"
#include "apps/cli/options/one_of.h"
#include "apps/cli/options/output_option.h"
#include "apps/cli/output/table.h"
#include "apps/dump/commands.h"
#include "apps/dump/graph_page.h"
#include "apps/dump/graph_picture.h"
#include "apps/dump/graphviz.h"
#include "apps/dump/written.h"
#include "libmge/base/files/file.h"
#include "libmge/graph/origins.h"
#include "libmge/inspect/value_names.h"

namespace mge::dump {
namespace {

struct GraphOptions {
    cli::ModelFile input;
    std::string output, format;
    std::string html, profile, profile_page;
    PictureOptions picture;
};

std::string format_of(const GraphOptions& options) {
    if (!options.format.empty()) return options.format;
    if (options.output == "-") return "dot";
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
    return format == "svg" ? run_graphviz(dot, "svg", "SVG") : dot;
}

// The file name and the part that is drawn.
std::string title(const GraphOptions& options, const Graph& graph) {
    std::string file = std::filesystem::path(options.input.path).filename().string();
    auto& around = options.picture.around;
    if (!around.empty()) return text(file, ": near '", around, "'");
    return text(file, ": ", cli::counted(graph.nodes().size(), "operator"));
}

// Writes the interactive page and adds its contents to the report.
void write_html(const cli::Invocation& invocation, const GraphOptions& options, const Model& model,
                cli::Json& report) {
    const Graph& graph = model.graph;
    std::optional<GraphTimes> times;
    if (!options.profile.empty()) times = read_times(options.profile, graph);
    GraphPage page =
        prepare_page(graph, std::filesystem::path(options.input.path).filename(), std::move(times));
    page.profile_page = options.profile_page;
    page.facts = model.metadata;
    page.facts["format"] = model.format;
    cli::write_output(invocation, options.html, [&](std::ostream& stream) { write_page(stream, page); });
    report["html"] = options.html;
    report.update(to_json(page));
    if (options.html == "-") return;
    std::cout << "wrote " << cli::counted(graph.nodes().size(), "operator") << " as a page to '"
              << options.html << "'\n";
    print_folds(std::cout, page);
}

// Refuses options that no output would show.
void check(const GraphOptions& options) {
    if (options.output.empty() && !options.format.empty())
        throw cli::UsageError("--format is that of a file besides --html, but none is named",
                              "name the file, or omit --format");
    std::string format = options.output.empty() ? "" : format_of(options);
    if (format == "dot" || format == "svg") return;
    auto& picture = options.picture;
    for (auto& [is_given, flag] : {std::pair(picture.constants, "--constants"),
                                   {picture.params, "--params"},
                                   {!picture.around.empty(), "--around"}})
        if (is_given)
            throw cli::UsageError(text(flag, " changes pictures in DOT and SVG, but none is written"),
                                  "write one of these, or omit it");
}

int run(GraphOptions options, const cli::Invocation& invocation) {
    if (options.html.empty() && !options.profile.empty())
        throw cli::UsageError("--profile needs --html", "give --html FILE");
    if (options.profile.empty() && !options.profile_page.empty())
        throw cli::UsageError("--profile-page needs --profile", "give the profile as well");
    if (options.output.empty() && options.html.empty()) options.output = "-";
    check(options);
    Model model = options.input.read();
    note_origins(model.graph);
    cli::Json report{{"input", options.input.path}, {"operators", model.graph.nodes().size()}};
    if (!options.html.empty()) write_html(invocation, options, model, report);
    if (options.output.empty()) return cli::finish(invocation, report);
    options.picture.title = title(options, model.graph);
    std::string format = format_of(options), data = render(model.graph, format, options.picture);
    cli::write_output(invocation, options.output, [&](std::ostream& stream) { stream << data; });
    if (options.output != "-")
        std::cout << "wrote " << cli::counted(model.graph.nodes().size(), "operator") << " as " << format
                  << " to '" << options.output << "'\n";
    report.update({{"output", options.output}, {"format", format}, {"bytes", data.size()}});
    return cli::finish(invocation, report);
}

}  // namespace

void add_graph(cli::App& app) {
    auto options = std::make_shared<GraphOptions>();
    auto& command =
        app.command("graph", "Draws the graph as a page, DOT or SVG, or prints it as text or JSON",
                    [options, &app] { return run(*options, app.invocation()); });
    cli::add_model_file(command, options->input);
    cli::written(command.add_option("output", options->output,
                                    "The file to write; default: -, which is stdout, or none with --html"))
        ->type_name("FILE");
    cli::written(command.add_option("--html", options->html,
                                    "Write an interactive page, which works offline; needs Graphviz"))
        ->type_name("FILE");
    command
        .add_option("--profile", options->profile,
                    "Show the times of a profile of load_and_run --profile on the page")
        ->type_name("FILE")
        ->check(CLI::ExistingFile);
    command
        .add_option("--profile-page", options->profile_page,
                    "Link to the page that mge-profile export --html writes: its address, seen from --html")
        ->type_name("ADDRESS");
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
