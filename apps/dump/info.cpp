// SPDX-License-Identifier: Apache-2.0
#include "apps/dump/info.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "apps/cli/files/model_file.h"
#include "apps/cli/options/batch_size.h"
#include "apps/cli/options/dimension_option.h"
#include "apps/cli/options/numbers.h"
#include "apps/dump/commands.h"
#include "libmge/base/files/file.h"

namespace mge::dump {
namespace {

struct InfoOptions {
    cli::ModelFile input;
    InfoTables tables;
    bool all = false;
    int64_t batch_size = 0;
    cli::DimensionOption dimensions;
};

int run(InfoOptions options, const cli::Invocation& invocation) {
    Model model = options.input.read();
    if (options.batch_size || options.dimensions.is_given()) {
        TensorSpecs specs = options.dimensions.specs(model.graph);
        if (options.batch_size)
            specs = cli::with_batch(model.graph, specs, options.batch_size, "--batch-size");
        options.dimensions.require(model.graph, specs);
        model.graph = infer_shapes(std::move(model.graph), specs);
    }
    if (options.all) options.tables = {true, true, true, options.tables.bar_length};
    ModelFigures figures = figures_of(model.graph);
    auto bytes = MappedFile::open(options.input.path)->bytes().size();
    print_info(model, figures, options.tables);
    cli::Json result{{"input", options.input.path}, {"bytes", bytes}};
    if (!invocation.json.empty()) result.update(info_json(model, figures));
    return cli::finish(invocation, result);
}

}  // namespace

void add_info(cli::App& app) {
    auto options = std::make_shared<InfoOptions>();
    auto& command = app.command("info", "Inputs, outputs, operators, weights and the cost of a run",
                                [options, &app] { return run(*options, app.invocation()); });
    cli::add_model_file(command, options->input);
    command.add_flag("--params", options->tables.params, "Print a table of all weights");
    command.add_flag("--flops", options->tables.flops,
                     "Print a table of all operators with their arithmetic");
    command.add_flag("--activations", options->tables.activations, "Print a table of the operators' outputs");
    command.add_flag("--all", options->all, "Print all tables");
    command
        .add_option("--batch-size", options->batch_size, "Count for this batch size instead of the model's")
        ->check(cli::whole_number(1, 1u << 31));
    cli::add_dimension_option(command, options->dimensions);
    command.add_option("--bar-length-max", options->tables.bar_length, "Length of the longest bar in tables")
        ->check(cli::whole_number(0, 200))
        ->capture_default_str();
}

}  // namespace mge::dump
