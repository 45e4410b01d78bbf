// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/cli/files/model_file.h"
#include "apps/cli/files/model_part.h"
#include "apps/cli/options/output_option.h"
#include "apps/dump/commands.h"
#include "apps/dump/written.h"
#include "libmge/base/joined.h"
#include "libmge/model/stored_options.h"

namespace mge::dump {
namespace {

struct ExtractOptions {
    cli::ModelFile input;
    std::string output;
    std::vector<std::string> from, to;
    bool no_test_cases = false;
};

// Returns names that contain the given one, as suggestions; else the first ones.
std::string some_like(const std::string& given, const std::vector<std::string>& names) {
    constexpr size_t most = 5;
    std::vector<std::string> like;
    for (auto& name : names)
        if (like.size() < most && name.find(given) != name.npos) like.push_back(name);
    return like.empty() ? "" : "there are " + joined(like, ", ") + "; ";
}

ValueId find(const std::vector<std::string>& names, const std::string& given, const char* option) {
    auto at = std::ranges::find(names, given);
    if (at == names.end())
        throw cli::UsageError(text("[", option, "] the model has no value '", given, "'"),
                              some_like(given, names) + "mge-dump info --activations lists them");
    return ValueId(at - names.begin());
}

std::vector<ValueId> find_all(const std::vector<std::string>& names, const std::vector<std::string>& given,
                              const char* option) {
    std::vector<ValueId> result;
    for (auto& each : given) result.push_back(find(names, each, option));
    return result;
}

// The test cases of the whole model, with the values at the cut.
std::vector<TestCase> test_cases_of(const Model& whole, const std::vector<ValueId>& inputs,
                                    const std::vector<ValueId>& outputs) {
    CompileOptions plain{.level = 0};
    std::vector<TestCase> result;
    for (auto& test : whole.test_cases)
        result.push_back({test.name, cli::values_of(whole.graph, plain, test.inputs, inputs),
                          cli::values_of(whole.graph, plain, test.inputs, outputs), test.max_error});
    return result;
}

int run(const ExtractOptions& options, const cli::Invocation& invocation) {
    Model whole = options.input.read();
    auto names = value_names(whole.graph);
    auto from = find_all(names, options.from, "--from"), to = find_all(names, options.to, "--to");
    if (to.empty()) to = whole.graph.outputs();
    auto part = cli::cut_part(whole.graph, from, to, names);
    if (has_const_shape(whole)) store_const_shape(part.model);
    if (!options.no_test_cases) part.model.test_cases = test_cases_of(whole, part.inputs, to);
    auto name = [&](ValueId id) { return names[size_t(id)]; };
    auto inputs = cli::Json::array(), outputs = cli::Json::array();
    for (ValueId id : part.inputs) inputs.push_back(name(id));
    for (ValueId id : to) outputs.push_back(name(id));
    std::cout << "from " << joined(part.inputs, ", ", name) << " to " << joined(to, ", ", name) << '\n';
    return cli::finish(invocation, {{"input", options.input.path},
                                    {"operators_of_whole", whole.graph.nodes().size()},
                                    {"from", inputs},
                                    {"to", outputs},
                                    {"output", write_and_describe(options.output, part.model)}});
}

}  // namespace

void add_extract(cli::App& app) {
    auto options = std::make_shared<ExtractOptions>();
    auto& command = app.command("extract", "Writes the part of a model between some of its values",
                                [options, &app] { return run(*options, app.invocation()); });
    cli::add_model_file(command, options->input);
    cli::add_written_file(command, "output", options->output, "The .mge file to write");
    command
        .add_option("--from", options->from,
                    "A value that becomes an input; may be repeated (default: the inputs of the model)")
        ->allow_extra_args(false)
        ->type_name("VALUE");
    command
        .add_option("--to", options->to,
                    "A value that becomes an output; may be repeated (default: the outputs of the model)")
        ->allow_extra_args(false)
        ->type_name("VALUE");
    command.add_flag("--no-testcases", options->no_test_cases,
                     "Leave the test cases out; otherwise they hold the values at the cut");
}

}  // namespace mge::dump
