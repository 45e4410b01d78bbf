// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <regex>

#include "apps/cli/files/array_file.h"
#include "apps/cli/files/model_file.h"
#include "apps/cli/files/safetensors.h"
#include "apps/cli/options/output_option.h"
#include "apps/cli/output/table.h"
#include "apps/dump/commands.h"
#include "apps/dump/written.h"
#include "libmge/base/pattern.h"

namespace mge::dump {
namespace {

using Arrays = std::vector<std::pair<std::string, Tensor>>;

struct WeightsOptions {
    cli::ModelFile input;
    std::string output, name_pattern;
};

Arrays collect(const Graph& graph, const std::string& pattern) {
    std::regex wanted(pattern);
    Arrays arrays;
    auto names = value_names(graph);
    for (size_t i = 0; i < names.size(); ++i)
        if (auto& value = graph.value(ValueId(i));
            value.is_constant() && (pattern.empty() || is_found(wanted, names[i])))
            arrays.emplace_back(names[i], value.constant);
    return arrays;
}

void write(const std::string& path, const Arrays& arrays) {
    if (path.ends_with(".npz")) return cli::write_npz(path, arrays);
    if (path.ends_with(".safetensors")) return cli::write_safetensors(path, arrays);
    throw cli::UsageError(text("'", path, "' has no ending of a known format"),
                          "end it in .npz or .safetensors");
}

int run(const WeightsOptions& options, const cli::Invocation& invocation) {
    Model model = options.input.read();
    Arrays arrays = collect(model.graph, options.name_pattern);
    if (arrays.empty())
        throw cli::UsageError(text("no weight of '", options.input.path, "' matches"),
                              "mge-dump info lists them by name");
    write(options.output, arrays);
    cli::Json weights = cli::Json::array();
    size_t bytes = 0;
    for (auto& [name, tensor] : arrays) {
        bytes += tensor.spec().bytes();
        weights.push_back(
            {{"name", name}, {"dtype", name_of(tensor.dtype())}, {"shape", tensor.shape().dims()}});
    }
    std::cout << "wrote " << cli::counted(arrays.size(), "weight") << ", " << cli::format_bytes(double(bytes))
              << ", to '" << options.output << "'\n";
    return cli::finish(
        invocation,
        {{"input", options.input.path}, {"output", options.output}, {"bytes", bytes}, {"weights", weights}});
}

}  // namespace

void add_weights(cli::App& app) {
    auto options = std::make_shared<WeightsOptions>();
    auto& command = app.command("weights", "Writes the weights to a .npz or .safetensors file",
                                [options, &app] { return run(*options, app.invocation()); });
    cli::add_model_file(command, options->input);
    cli::add_written_file(command, "output", options->output, "The file to write, .npz or .safetensors");
    command.add_option("--name", options->name_pattern, "Write only weights whose name matches this pattern")
        ->type_name("REGEX")
        ->check([](const std::string& pattern) {
            try {
                std::regex parsed(pattern);
                return std::string();
            } catch (const std::regex_error& e) {
                return "'" + pattern + "' is not a regular expression: " + e.what();
            }
        });
}

}  // namespace mge::dump
