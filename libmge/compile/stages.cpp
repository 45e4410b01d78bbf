// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "libmge/base/log.h"
#include "libmge/compile/compilation.h"
#include "libmge/compile/replacement_check.h"
#include "libmge/compile/surrounding.h"
#include "libmge/graph/dependencies.h"
#include "libmge/graph/place.h"

namespace mge {
namespace {

void forget_caller(Compilation& c) {
    c.options.progress = nullptr;
    auto& select = c.options.select;
    select.cache = nullptr;
    select.lookups = nullptr;
    select.together = nullptr;
    select.packed_copies = nullptr;
    select.around = nullptr;
    select.profile = false;
    c.options.uploads = nullptr;
}

void forget_nodes(Compilation& c) { c.graph.forget_nodes(); }

using O = CompileOptions;
bool gives_values_up(const O& o) { return o.enable_sublinear_memory_opt || o.enable_dtr_memory_opt; }
bool swaps_values(const O& o) { return o.enable_memory_swap; }
bool writes_to_user_memory(const O& o) { return o.force_output_use_user_specified_memory; }
bool allocates_ahead(const O& o) { return o.allocate_static_mem_after_graph_compile; }
bool gives_graph_up(const O& o) { return o.comp_node_seq_record_level == 2; }

// The table of contents of a compilation. Order matters where a line says so.
constexpr std::array stages{
    // The graph's constants, and whether the files that they are mapped from are whole.
    Stage{stage::note_constants},
    // Names and specs of inputs and outputs. Before the passes, which may replace an output by an equal
    // value.
    Stage{stage::name_ports},
    // Options that depend on each other get the value that counts.
    Stage{stage::settle_options},
    // The cache and the state that all measurements share.
    Stage{stage::prepare_measuring},
    // Named operators, by their numbers in the graph as it came.
    Stage{stage::find_endpoints},
    // Everything in passes/pipeline.cpp. Below level 0 each stage of it is kept for the check of every run.
    Stage{stage::run_passes},
    // A layout that was asked for and that no value has is reported.
    Stage{stage::check_layout},
    // Operators that write over an operand come after its other readers.
    Stage{stage::order_updates},
    // After the passes, which would merge what is computed twice.
    Stage{stage::repeat_values, gives_values_up},
    // Values wait in host memory where their device is fullest.
    Stage{stage::swap_values, swaps_values},
    // After all that computes outputs: each becomes memory that the last step writes.
    Stage{stage::give_outputs_memory, writes_to_user_memory},
    // The ids of inputs and outputs in the graph, which is final from here on.
    Stage{stage::number_ports},
    // The order of steps, and which values share memory.
    Stage{stage::make_schedule},
    // The devices and queues, in the order in which steps come to them.
    Stage{stage::find_places},
    // Before anything expensive: whether options ask for what this graph cannot do.
    Stage{stage::check_recording},
    Stage{stage::check_outputs},
    // Constants go to the devices that cannot read the host's memory.
    Stage{stage::upload_constants},
    // An algorithm for each step, measured where the options say so, with its packed weights. Constants that
    // only packed copies replace are released meanwhile.
    Stage{stage::bind},
    // Which constants stay in memory. The others give their pages back to the files that they are mapped
    // from.
    Stage{stage::count_constants},
    // Offsets in the arenas. After the binding, which says what workspaces are needed.
    Stage{stage::place_values},
    // Which outputs may take over the memory of inputs that a caller gives up.
    Stage{stage::find_taken_inputs},
    // Steps with algorithm and locations: what contexts turn into instructions.
    Stage{stage::make_steps},
    // Copies between host and device run beside the other steps, behind what touches the same bytes.
    Stage{stage::plan_copies},
    // Which thread asks for which step.
    Stage{stage::assign_threads},
    // Reports about memory, steps and values.
    Stage{stage::count_pieces},
    Stage{stage::report_steps},
    Stage{stage::report_values},
    // Once more: a file may have been cut while its constants were read.
    Stage{stage::check_files},
    // Last of what reads the user's options: those that found nothing to do.
    Stage{stage::report_options},
    // Nothing of the caller outlives the compilation.
    Stage{forget_caller},
    // A lack of memory shows here instead of in the first context.
    Stage{stage::take_arenas, allocates_ahead},
    // Recorded kernels need no graph.
    Stage{forget_nodes, gives_graph_up},
};

std::shared_ptr<const Program> make_program(Compilation& c) {
    c.first_use = std::make_unique<FirstUse>(std::move(c.arenas), c.options.var_sanity_check_first_run);
    return std::make_shared<Program>(std::make_unique<ProgramParts>(static_cast<ProgramParts&&>(c)));
}

}  // namespace

Compilation::Compilation(Graph source_graph, const CompileOptions& asked)
    : ProgramParts{.id = next_graph_id(), .options = asked, .graph = std::move(source_graph)},
      around(asked.select.around) {}

void Compilation::ignore(std::string option, std::string given, std::string reason) {
    // The program around a graph warns for both.
    if (options.log_level > 0 && !around) log_warning(text(option, ' ', given, " has no effect: ", reason));
    reports.ignored.push_back({std::move(option), std::move(given), std::move(reason)});
}

std::shared_ptr<const Program> compile_placed(Graph graph, const CompileOptions& options) {
    Compilation compilation(std::move(graph), options);
    for (auto& stage : stages)
        if (!stage.is_on || stage.is_on(compilation.options)) stage.run(compilation);
    return make_program(compilation);
}

std::shared_ptr<const Program> Program::compile(const Graph& graph, const CompileOptions& options) {
    TensorSpecs inputs;
    for (ValueId id : graph.inputs()) inputs.push_back(graph.value(id).spec);
    return compile(graph, inputs, options);
}

std::shared_ptr<const Program> Program::compile(const Graph& graph, const TensorSpecs& inputs,
                                                const CompileOptions& options) {
    check(options);
    for (size_t i = 0; i < std::min(inputs.size(), graph.inputs().size()); ++i)
        if (!inputs[i].shape.is_known())
            throw_user("compile",
                       text("the shape of input '", graph.value(graph.inputs()[i]).name, "' is not known"),
                       ErrorClass::value);
    Graph placed = order_after(place(graph, options.device), options.extra_vardeps);
    return compile_placed(infer_shapes(std::move(placed), inputs), options);
}

}  // namespace mge
