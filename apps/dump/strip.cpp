// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/cli/files/model_file.h"
#include "apps/cli/options/numbers.h"
#include "apps/cli/options/output_option.h"
#include "apps/dump/commands.h"
#include "apps/dump/written.h"
#include "libmge/model/stored_options.h"

namespace mge::dump {
namespace {

// The levels of MegEngine's dump: keep_var_name 0, 1 and 2, keep_opr_name, keep_param_name.
struct StripOptions {
    cli::ModelFile input;
    std::string output;
    int keep_value_names = 1;
    bool keep_operator_names = false, keep_parameter_names = false;
    bool drop_test_cases = false, drop_metadata = false;
};

struct Removed {
    size_t value_names = 0, operator_names = 0, parameter_names = 0, test_cases = 0, metadata = 0;
};

void clear(std::string& name, size_t& count) {
    count += !name.empty();
    name.clear();
}

// Keeps the names of inputs, which callers need.
Removed strip(Model& model, const StripOptions& options) {
    Removed removed;
    Graph& graph = model.graph;
    std::vector<bool> is_output(graph.values().size());
    for (ValueId id : graph.outputs()) is_output[size_t(id)] = true;
    for (size_t i = 0; i < graph.values().size(); ++i) {
        Value& value = graph.value(ValueId(i));
        int needed = is_output[i] ? 1 : 2;
        if (value.is_input) continue;
        if (value.is_constant() && !options.keep_parameter_names)
            clear(value.name, removed.parameter_names);
        else if (!value.is_constant() && options.keep_value_names < needed)
            clear(value.name, removed.value_names);
    }
    for (size_t i = 0; i < graph.nodes().size(); ++i)
        if (!options.keep_operator_names) clear(graph.node(NodeId(i)).name, removed.operator_names);
    if (options.drop_test_cases) {
        removed.test_cases = model.test_cases.size();
        model.test_cases.clear();
    }
    if (options.drop_metadata) {
        // The values computed from such shapes are weights: with other shapes the results would be wrong.
        bool has_fixed_shapes = has_const_shape(model);
        removed.metadata = model.metadata.size() - size_t(has_fixed_shapes);
        model.metadata.clear();
        if (has_fixed_shapes) store_const_shape(model);
    }
    return removed;
}

int run(const StripOptions& options, const cli::Invocation& invocation) {
    Model model = options.input.read();
    Removed removed = strip(model, options);
    std::cout << "removed " << removed.value_names << " names of values, " << removed.operator_names
              << " of operators, " << removed.parameter_names << " of parameters\n";
    cli::Json result{{"input", options.input.path},
                     {"removed",
                      {{"value_names", removed.value_names},
                       {"operator_names", removed.operator_names},
                       {"parameter_names", removed.parameter_names},
                       {"test_cases", removed.test_cases},
                       {"metadata", removed.metadata}}}};
    result["output"] = write_and_describe(options.output, model);
    return cli::finish(invocation, result);
}

}  // namespace

void add_strip(cli::App& app) {
    auto options = std::make_shared<StripOptions>();
    auto& command = app.command("strip", "Writes the model without names, test cases or metadata",
                                [options, &app] { return run(*options, app.invocation()); });
    cli::add_model_file(command, options->input);
    cli::add_written_file(command, "output", options->output, "The .mge file to write");
    command
        .add_option("--keep-var-name", options->keep_value_names,
                    "Names of values to keep: 0 none, 1 those of outputs, 2 all")
        ->check(cli::whole_number(0, 2))
        ->capture_default_str();
    command.add_flag("--keep-opr-name", options->keep_operator_names, "Keep the names of operators");
    command.add_flag("--keep-param-name", options->keep_parameter_names, "Keep the names of weights");
    command.add_flag("--drop-testcases", options->drop_test_cases, "Leave out the test cases");
    command.add_flag("--drop-metadata", options->drop_metadata, "Leave out the metadata");
}

}  // namespace mge::dump
