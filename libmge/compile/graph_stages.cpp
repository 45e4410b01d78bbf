// SPDX-License-Identifier: Apache-2.0
// Compilation stages that change the graph, from the original to the scheduled one.

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "libmge/base/files/file.h"
#include "libmge/compile/compilation.h"
#include "libmge/compile/memory/recompute.h"
#include "libmge/compile/memory/release_constants.h"
#include "libmge/compile/memory/swap.h"
#include "libmge/compile/memory/write_last.h"
#include "libmge/compile/replacement_check.h"
#include "libmge/compile/run/own_outputs.h"
#include "libmge/compile/surrounding.h"
#include "libmge/graph/inner_graph.h"
#include "libmge/graph/node_problem.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

PortInfo port_of(const Graph& graph, ValueId id, std::string_view kind, size_t index) {
    auto& value = graph.value(id);
    return {value.name.empty() ? text(kind, '_', index) : value.name, value.spec, no_value, value.device,
            value.dimensions};
}

// Reading the pages of smaller constants again would cost more than their memory is worth.
constexpr size_t large_constant = size_t(16) << 20;

// Drops the pages of constants of at least `smallest` bytes in mapped files.
void release_mapped(const ConstantBytes& constants, size_t smallest) {
    for (auto [address, bytes] : constants)
        if (bytes >= smallest) release_pages({static_cast<const std::byte*>(address), bytes});
}

// Returns the bytes that a run accesses: each value and constant once per graph; the maximum number if a
// shape is known only at run time.
int64_t touched_bytes(const Graph& graph, const ConstantBytes& constants) {
    int64_t bytes = 0;
    for (auto [address, size] : constants) bytes += int64_t(size);
    for (auto& [path, part] : with_inner_graphs(graph))
        for (auto& value : part->values()) {
            constexpr auto large = std::numeric_limits<int64_t>::max();
            if (!value.spec.shape.is_known() || value.spec.bytes() > size_t(large - bytes)) return large;
            if (!value.is_constant()) bytes += int64_t(value.spec.bytes());
        }
    return bytes;
}

size_t constant_bytes(const Graph& graph) {
    size_t bytes = 0;
    std::set<const void*> constants;
    for (auto& value : graph.values())
        if (value.is_constant() && constants.insert(value.constant.address()).second)
            bytes += value.spec.bytes();
    return bytes;
}

}  // namespace

namespace stage {

void note_constants(Compilation& c) {
    for (auto& [path, part] : with_inner_graphs(c.graph))
        for (auto& value : part->values())
            if (value.is_constant()) c.source.constants.emplace(value.constant.address(), value.spec.bytes());
    require_whole_files(c.source.constants);
}

void name_ports(Compilation& c) {
    for (size_t i = 0; i < c.graph.inputs().size(); ++i)
        c.ports.inputs.push_back(port_of(c.graph, c.graph.inputs()[i], "input", i));
    for (size_t i = 0; i < c.graph.outputs().size(); ++i)
        c.ports.outputs.push_back(port_of(c.graph, c.graph.outputs()[i], "output", i));
}

void settle_options(Compilation& c) {
    auto& o = c.options;
    // Two programs that both measure may choose differently: equal results require a common cache.
    if (o.select.same_between_batches && !o.select.cache) o.select.profile = false;
}

void prepare_measuring(Compilation& c) {
    auto& select = c.options.select;
    // Measures equal problems once, even without a cache of the caller.
    if ((select.profile || c.options.measure_layouts) && !select.cache) {
        c.measuring.own_cache = FastrunCache::in_memory();
        select.cache = c.measuring.own_cache.get();
    }
    select.lookups = &c.measuring.lookups;
    c.source.run_bytes =
        std::max(touched_bytes(c.graph, c.source.constants), c.around ? c.around->bytes : int64_t(0));
    // Programs for other batch sizes access more or fewer bytes, but must find the same times.
    if (!select.same_between_batches) c.measuring.lookups.set_program_bytes(c.source.run_bytes);
    // Algorithms are measured layer by layer, on weights that are read again for it. Large weights are packed
    // in the same way.
    if (select.profile) release_mapped(c.source.constants, large_constant);
    c.measuring.lookups.before_measuring([&c] { release_mapped(c.source.constants, 0); });
}

void find_endpoints(Compilation& c) { c.source.endpoints = mge::find_endpoints(c.graph, c.options); }

void run_passes(Compilation& c) {
    if (c.options.level < 0) {
        std::vector<PassStage> stages;
        Graph source = c.graph;
        c.graph = mge::run_passes(std::move(c.graph), pass_options(c.options), &stages);
        c.check = std::make_unique<ReplacementCheck>(std::move(source), std::move(stages), c.options);
    } else {
        c.graph = mge::run_passes(std::move(c.graph), pass_options(c.options));
    }
    c.options.own_passes.clear();
    c.reports.memory.constants = constant_bytes(c.graph);
}

// Reports a layout that no value has.
void check_layout(Compilation& c) {
    if (c.options.layout == "auto") return;
    auto layout = Layout::named(c.options.layout);
    auto has_it = [&](auto& value) { return value.spec.layout == layout; };
    if (layout.is_plain() || std::ranges::any_of(c.graph.values(), has_it)) return;
    c.ignore("layout", c.options.layout, "no kernel of this device works on this model in that layout");
}

void order_updates(Compilation& c) {
    if (!c.options.no_force_inplace) {
        write_last(c.graph, c.options);
    } else if (Graph other = c.graph; write_last(other, {.plan = c.options.plan, .log_level = 0}) == 0) {
        c.ignore("no_force_inplace", "true", "no operator of this model would wait to write over an operand");
    }
}

void repeat_values(Compilation& c) {
    auto result = recompute(std::move(c.graph), c.options, c.source.endpoints);
    c.graph = std::move(result.graph);
    if (c.options.verify_passes) verify(c.graph);
    c.order.repeated = std::move(result.repeated);
    c.reports.memory.repeated_segments = result.segments;
    if (result.segments) return;
    bool is_for_peak = c.options.recompute.lowers_peak;
    c.ignore(is_for_peak ? "recompute.lowers_peak" : "recompute.keeps_budget", "true",
             "computing values again would not lower the peak of the memory plan");
}

void swap_values(Compilation& c) {
    auto swapped = mge::swap_values(std::move(c.graph), c.options);
    c.graph = std::move(swapped.graph);
    c.reports.memory.swapped_values = swapped.values;
    if (c.options.verify_passes) verify(c.graph);
    if (swapped.values) return;
    bool is_on_host = std::ranges::all_of(c.graph.nodes(),
                                          [&](auto& node) { return running_place(c.graph, node).is_host(); });
    c.ignore("enable_memory_swap", "true",
             is_on_host ? "the values of a CPU lie in host memory already"
                        : "no large value waits while its device is fullest");
}

void give_outputs_memory(Compilation& c) { c.graph = give_outputs_own_memory(std::move(c.graph)); }

void number_ports(Compilation& c) {
    auto& [inputs, outputs, is_callback_output] = c.ports;
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i].value = c.graph.inputs()[i];
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i].value = c.graph.outputs()[i];
    is_callback_output.resize(outputs.size());
    for (size_t i : c.options.callback_outputs) {
        if (i >= outputs.size())
            throw_user("callback_outputs", text("there is no output ", i, "; the graph has ", outputs.size()),
                       ErrorClass::index);
        if (c.options.force_output_use_user_specified_memory)
            throw_value_error("callback_outputs", "output ", i,
                              " would lie in the program's own memory, but ",
                              "force_output_use_user_specified_memory wants it in the caller's");
        is_callback_output[i] = true;
    }
}

}  // namespace stage
}  // namespace mge
