// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/cli/files/model_file.h"
#include "apps/cli/options/cache_file.h"
#include "apps/cli/options/device_option.h"
#include "apps/cli/options/layout_options.h"
#include "apps/cli/options/numbers.h"
#include "apps/cli/options/one_of.h"
#include "apps/cli/options/output_option.h"
#include "apps/cli/output/table.h"
#include "apps/dump/commands.h"
#include "apps/dump/written.h"
#include "libmge/base/log.h"
#include "libmge/base/threads/threads.h"
#include "libmge/compile/program.h"
#include "libmge/model/packed_constants.h"
#include "libmge/model/stored_options.h"
#include "libmge/ops/quantize/compressed/compressed_matmul.h"
#include "libmge/passes/pass.h"

namespace mge::dump {
namespace {

struct OptimizeOptions {
    cli::ModelFile input;
    std::string output;
    int level = 2;
    std::vector<std::string> only, without;
    bool const_shape = false;
    cli::LayoutOptions layout;
    std::string device;
    int weight_bits = 0;  // 0: as stored in the model
    bool pack = false;
    int threads = 0;  // 0: all that this machine allows
    std::string cache;
};

// Its choice depends on the machine that runs the model, so it runs there.
constexpr std::string_view machine_pass = "choose_layout";
constexpr std::string_view compressing_pass = "compress_weights";

std::vector<std::string> pass_names() {
    std::vector<std::string> names;
    for (auto& pass : pipeline())
        if (pass.name != machine_pass) names.emplace_back(pass.name);
    return names;
}

bool holds(const std::vector<std::string>& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
}

bool is_wanted(const Pass& pass, const OptimizeOptions& options, int weight_bits) {
    if (pass.name == machine_pass || holds(options.without, pass.name)) return false;
    if (pass.name == compressing_pass) return weight_bits > 0;
    return options.only.empty() ? pass.level <= options.level : holds(options.only, pass.name);
}

// Returns the option's value, else the one stored in the model, which would otherwise apply at each load.
int weight_bits_of(const OptimizeOptions& options, const Model& model) {
    const bool is_named = holds(options.only, compressing_pass);
    int bits = options.weight_bits;
    if (auto stored = stored_options(model); stored && !bits && (options.only.empty() || is_named))
        bits = with_stored({}, *stored).weight_bits;
    if (is_named && !bits)
        throw cli::UsageError(text("--passes names ", compressing_pass, ", but --weight-bits is missing"),
                              "add --weight-bits 8 or 4");
    return bits;
}

bool is_compressed(const Graph& graph) {
    return std::ranges::any_of(graph.nodes(),
                               [](auto& node) { return node.op == &ops::CompressedMatmul::info; });
}

struct LayoutChoice {
    std::string layout;  // empty: chosen at run time
    std::vector<std::string> without_effect;
};

bool requests_layout(const cli::LayoutOptions& options) {
    return !options.formats.empty() || !options.transform.empty();
}

// Stores the layout for load_and_run in the model's metadata: the one given, or the fastest here.
LayoutChoice choose_layout(Model& model, const cli::LayoutOptions& options, DeviceId device) {
    if (!requests_layout(options)) return {};
    CompileOptions compile;
    compile.device = device;
    compile.measure_layouts = !options.transform.empty();
    if (!options.formats.empty()) compile.layout = options.formats[0];
    auto program = Program::compile(model.graph, compile);
    if (compile.measure_layouts) {
        store_options(model, compile, *program);
        return {with_stored(compile, *stored_options(model)).layout, {}};
    }
    LayoutChoice choice{compile.layout, {}};
    // The model may be for another machine.
    store_options(model, compile);
    for (auto& ignored : program->options_without_effect())
        choice.without_effect.push_back(cli::layout_flag(ignored.given));
    return choice;
}

// Packs constants for runs with these threads and this cache.
PackedConstants pack(const Graph& graph, const OptimizeOptions& options) {
    TensorSpecs inputs;
    for (ValueId id : graph.inputs()) inputs.push_back(graph.value(id).spec);
    CompileOptions compile;
    compile.threads = options.threads ? options.threads : default_threads();
    std::unique_ptr<FastrunCache> cache;
    if (!options.cache.empty()) {
        cache = cli::open_cache(options.cache, {}, cli::CacheUse::read, false);
        compile.select.cache = cache.get();
        compile.select.profile = compile.select.heuristic = true;
    }
    return pack_constants(infer_shapes(graph, inputs), compile);
}

// Refuses test cases of other shapes, which could not run any more.
void check_test_cases(const Model& model) {
    for (auto& test : model.test_cases)
        for (size_t i = 0; i < test.inputs.size(); ++i) {
            auto& own = model.graph.value(model.graph.inputs()[i]);
            if (!(test.inputs[i].spec() == own.spec))
                throw cli::UsageError(
                    text("--const-shape fixes input '", own.name, "' as ", own.spec, ", but the test case '",
                         test.name, "' of the model gives ", test.inputs[i].spec()),
                    "omit --const-shape, or remove the test cases with mge-dump strip --drop-testcases");
        }
}

int run(const OptimizeOptions& options, const cli::Invocation& invocation) {
    check(options.layout);
    if (!options.device.empty() && !requests_layout(options.layout))
        throw cli::UsageError("--device selects where layouts are tried, but no layout is requested",
                              "add --layout-transform or a flag such as --enable-nchw88, or omit it");
    if (!options.pack && (options.threads || !options.cache.empty()))
        throw cli::UsageError("--threads and --cache apply to packed weights, but --pack is not given",
                              "add --pack, or omit them");
    Model model = options.input.read();
    DeviceId device = cli::device_of(options.device);
    if (options.const_shape) check_test_cases(model);
    PassOptions how{
        .fixed_shapes = options.const_shape, .verify = true, .weight_bits = weight_bits_of(options, model)};
    for (auto& pass : pipeline())
        how.passes[std::string(pass.name)] = is_wanted(pass, options, how.weight_bits);
    size_t before = model.graph.nodes().size();
    std::vector<PassStage> stages;
    model.graph = run_passes(std::move(model.graph), how, &stages);
    if (options.const_shape) store_const_shape(model);
    cli::Json passes = cli::Json::array();
    std::vector<std::vector<std::string>> rows{{"pass", "operators before", "after"}};
    for (auto& stage : stages) {
        size_t after = stage.graph.nodes().size();
        rows.push_back({stage.pass, std::to_string(before), std::to_string(after)});
        passes.push_back({{"name", stage.pass}, {"operators_before", before}, {"operators_after", after}});
        before = after;
    }
    cli::print_table(std::cout, rows);
    auto choice = choose_layout(model, options.layout, device);
    if (options.weight_bits && !is_compressed(model.graph)) {
        choice.without_effect.push_back("--weight-bits");
        log_warning("--weight-bits has no effect: the model has no product with a large constant matrix");
    }
    model.packed = options.pack ? pack(model.graph, options) : PackedConstants{};
    if (!choice.layout.empty()) std::cout << "layout for load_and_run: " << choice.layout << '\n';
    cli::Json result{{"input", options.input.path},
                     {"const_shape", options.const_shape},
                     {"passes", passes},
                     {"output", write_and_describe(options.output, model)},
                     {"packed_weights", model.packed.all.size()},
                     {"options_without_effect", choice.without_effect}};
    if (!choice.layout.empty()) result["layout"] = choice.layout;
    return cli::finish(invocation, result);
}

}  // namespace

void add_optimize(cli::App& app) {
    auto options = std::make_shared<OptimizeOptions>();
    auto& command = app.command("optimize", "Runs the graph optimisations now instead of at each load",
                                [options, &app] { return run(*options, app.invocation()); });
    cli::add_model_file(command, options->input);
    cli::add_written_file(command, "output", options->output, "The .mge file to write");
    command
        .add_option("--level", options->level,
                    "0: removes dead operators; 1: also algebra and constants; 2: also fusions")
        ->check(cli::whole_number(0, 2))
        ->capture_default_str();
    auto names = cli::one_of(pass_names());
    command.add_option("--passes", options->only, "Run only these passes, in the order of the pipeline")
        ->delimiter(',')
        ->check(names);
    command.add_option("--without", options->without, "Do not run these passes")
        ->delimiter(',')
        ->check(names);
    command.add_flag(
        "--const-shape", options->const_shape,
        "Fix the input shapes of the model: values that depend only on them are computed now, and "
        "the model accepts no other shapes (default: keep all)");
    command
        .add_option("--weight-bits", options->weight_bits,
                    "Store the weights of large linear layers in 8 or 4 bits; arithmetic stays f32 "
                    "(default: the model's setting)")
        ->check(cli::one_of({"8", "4"}))
        ->type_name("N");
    command.add_flag("--pack", options->pack,
                     "Also store the weights packed for this machine's kernels: loading is faster, and the "
                     "file is larger");
    command
        .add_option("--threads", options->threads,
                    "Threads of the runs for which --pack packs (default: all)")
        ->check(cli::whole_number(1, 1024))
        ->type_name("N");
    command.add_option("--cache", options->cache, "The fast-run cache of the runs for which --pack packs")
        ->type_name("FILE");
    cli::add_layout_options(command, options->layout);
    cli::add_device_option(command, options->device, "Compile for the layout");
}

}  // namespace mge::dump
