// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "libmge/base/log.h"
#include "libmge/compile/compilation.h"
#include "libmge/compile/replacement_check.h"
#include "libmge/compile/surrounding.h"
#include "libmge/graph/dependencies.h"
#include "libmge/graph/dimension_sizes.h"
#include "libmge/graph/place.h"
#include "libmge/kernel/packed_weight_cache.h"

namespace mge {
namespace {

void forget_caller(Compilation& c) {
    c.options.progress = nullptr;
    auto& select = c.options.select;
    select.cache = nullptr;
    select.lookups = nullptr;
    select.together = nullptr;
    select.packed_copies = nullptr;
    select.weight_cache = nullptr;
    select.around = nullptr;
    select.profile = false;
    c.options.uploads = nullptr;
}

// Copies of algorithms that were tried and not chosen are freed by now.
void keep_packed_weights(Compilation& c) { c.options.select.weight_cache->write(); }

void forget_nodes(Compilation& c) { c.graph.forget_nodes(); }

using O = CompileOptions;
bool recomputes_values(const O& o) { return o.recompute.lowers_peak || o.recompute.keeps_budget; }
bool swaps_values(const O& o) { return o.enable_memory_swap; }
bool writes_to_user_memory(const O& o) { return o.force_output_use_user_specified_memory; }
bool keeps_packed_weights(const O& o) { return o.select.weight_cache != nullptr; }
bool allocates_ahead(const O& o) { return o.allocate_static_mem_after_graph_compile; }
bool drops_graph(const O& o) { return o.comp_node_seq_record_level == 2; }

// The table of contents of a compilation. Where order matters, the line says so.
constexpr std::array stages{
    // The graph's constants, and a check that their mapped files are complete.
    Stage{stage::note_constants},
    // Names and specs of inputs and outputs. Before the passes, which may replace an output by an equal
    // value.
    Stage{stage::name_ports},
    // Resolves options that depend on each other.
    Stage{stage::settle_options},
    // The cache and the state that all measurements share.
    Stage{stage::prepare_measuring},
    // Numbers of named operators in the original graph.
    Stage{stage::find_endpoints},
    // All passes of passes/pipeline.cpp. Below level 0 every stage is kept for the check of each run.
    Stage{stage::run_passes},
    // Reports a requested layout that no value has.
    Stage{stage::check_layout},
    // Moves operators that overwrite an operand after its other readers.
    Stage{stage::order_updates},
    // After the passes, which would merge repeated work.
    Stage{stage::repeat_values, recomputes_values},
    // Moves values to host memory if their device is too full.
    Stage{stage::swap_values, swaps_values},
    // After all changes of outputs: the last step writes each to its own memory.
    Stage{stage::give_outputs_memory, writes_to_user_memory},
    // The ids of inputs and outputs in the graph, which is final now.
    Stage{stage::number_ports},
    // The order of steps, and sharing of memory between values.
    Stage{stage::make_schedule},
    // The devices and queues, in order of first use.
    Stage{stage::find_places},
    // Before anything expensive: whether the options are possible for this graph.
    Stage{stage::check_recording},
    Stage{stage::check_outputs},
    // Copies constants to devices that cannot read host memory.
    Stage{stage::upload_constants},
    // An algorithm for each step with its packed weights, measured if the options require it. Constants that
    // packed copies replace are released meanwhile.
    Stage{stage::bind},
    // Determines which constants stay in memory. The others return their pages to the mapped files.
    Stage{stage::count_constants},
    // Offsets in the arenas. After binding, which determines workspaces.
    Stage{stage::place_values},
    // Determines which outputs may reuse memory of donated inputs.
    Stage{stage::find_taken_inputs},
    // Steps with algorithm and locations, from which contexts make instructions.
    Stage{stage::make_steps},
    // Overlaps copies between host and device with other steps that do not access the same bytes.
    Stage{stage::plan_copies},
    // The enqueuing thread of each step.
    Stage{stage::assign_threads},
    // Reports about memory, steps and values.
    Stage{stage::count_pieces},
    Stage{stage::report_steps},
    Stage{stage::report_values},
    // Checks again: a file may have been truncated while its constants were read.
    Stage{stage::check_files},
    // Options without effect. After all other uses of the user's options.
    Stage{stage::report_options},
    // For the next process that compiles a graph with these constants.
    Stage{keep_packed_weights, keeps_packed_weights},
    // Drops references to the caller's objects.
    Stage{forget_caller},
    // Allocates now, so that a lack of memory shows here.
    Stage{stage::take_arenas, allocates_ahead},
    // Recorded kernels need no graph.
    Stage{forget_nodes, drops_graph},
};

std::shared_ptr<const Program> make_program(Compilation& c) {
    c.first_use = std::make_unique<FirstUse>(std::move(c.arenas), c.options.var_sanity_check_first_run);
    return std::make_shared<Program>(std::make_unique<ProgramParts>(static_cast<ProgramParts&&>(c)));
}

}  // namespace

Compilation::Compilation(Graph source_graph, const CompileOptions& requested)
    : ProgramParts{.id = next_graph_id(), .options = requested, .graph = std::move(source_graph)},
      around(requested.select.around) {}

void Compilation::ignore(std::string option, std::string given, std::string reason) {
    // The enclosing program warns for both.
    if (options.log_level > 0 && !around)
        log_warning(text(named(options, option), ' ', given, " has no effect: ", reason));
    reports.ignored.push_back({std::move(option), std::move(given), std::move(reason)});
}

std::shared_ptr<const Program> compile_placed(Graph graph, const CompileOptions& options) {
    Compilation compilation(std::move(graph), options);
    for (auto& stage : stages)
        if (!stage.is_on || stage.is_on(compilation.options)) stage.run(compilation);
    return make_program(compilation);
}

std::shared_ptr<const Program> compile_inferred(Graph graph, const CompileOptions& options) {
    check(options);
    return compile_placed(order_after(std::move(graph), options.extra_vardeps), options);
}

std::shared_ptr<const Program> Program::compile(const Graph& graph, const CompileOptions& options) {
    TensorSpecs inputs;
    for (ValueId id : graph.inputs()) inputs.push_back(graph.value(id).spec);
    return compile(graph, inputs, options);
}

std::shared_ptr<const Program> Program::compile(const Graph& graph, const TensorSpecs& inputs,
                                                const CompileOptions& options) {
    for (size_t i = 0; i < std::min(inputs.size(), graph.inputs().size()); ++i)
        if (!inputs[i].shape.is_known())
            throw_value_error("compile", "the shape of input '", graph.value(graph.inputs()[i]).name,
                              "' is not known");
    return compile_inferred(infer_with_names(place(graph, options.device), inputs), options);
}

}  // namespace mge
