// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "libmge/base/joined.h"
#include "libmge/base/log.h"
#include "libmge/device/cpu/cpu_device.h"
#include "libmge/device/device.h"
#include "libmge/graph/node_problem.h"
#include "libmge/graph/origins.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

constexpr int fusing_level = 2;

// True if the device has tile or tensor units for bf16.
bool has_products_of_bf16(DeviceId place) {
    return place.is_host() ? cpu_isa() >= Isa::amx : device(place).compute_capability() >= 80;
}

// True if `precision` is fast, and every device of the graph has such units.
bool wants_bf16(const Graph& graph, const PassOptions& options) {
    if (options.precision != Precision::fast || options.level < fusing_level || options.switches.uses_half())
        return false;
    return std::ranges::all_of(
        graph.nodes(), [&](const Node& node) { return has_products_of_bf16(running_place(graph, node)); });
}

// The switches of passes. Unset ones leave the decision to the level.
using Switch = std::optional<bool>;
// A switch that can only turn its pass on.
Switch on_if(bool is_requested) { return is_requested ? Switch(true) : std::nullopt; }

Switch means_switch(const Graph&, const PassOptions& options) { return options.switches.join_means; }
Switch preprocess_switch(const Graph&, const PassOptions& options) {
    return options.switches.fuse_preprocess;
}
Switch elementwise_switch(const Graph&, const PassOptions& options) {
    auto& o = options.switches;
    if (o.fuse_transposes == true || o.fuse_reductions == true) return true;
    return o.fuse_elementwise ? Switch(*o.fuse_elementwise > 0) : std::nullopt;
}
// These passes support more operators than convolutions, so each of them checks for `false` itself.
Switch bias_switch(const Graph&, const PassOptions& options) {
    return on_if(options.switches.fuse_bias == true);
}
Switch residual_switch(const Graph&, const PassOptions& options) {
    return on_if(options.switches.fuse_residual == true);
}
Switch activation_switch(const Graph& graph, const PassOptions& options) {
    return on_if(bias_switch(graph, options) || residual_switch(graph, options));
}
Switch weights_switch(const Graph&, const PassOptions& options) { return on_if(options.weight_bits != 0); }
Switch f16_switch(const Graph&, const PassOptions& options) { return on_if(options.switches.uses_half()); }
Switch bf16_switch(const Graph& graph, const PassOptions& options) {
    return on_if(wants_bf16(graph, options));
}

// The passes of this folder. A comment gives the reason where the order matters.
constexpr std::array passes{
    Pass{"remove_dead_nodes", 0, remove_dead_nodes},
    Pass{"fold_constants", 1, fold_constants},
    // Including results of folding.
    Pass{"sink_constants", 1, sink_constants},
    // Before the algebra, which gives all views one form.
    Pass{"move_axes", 2, move_axes},
    Pass{"simplify_algebra", 1, simplify_algebra},
    // After the algebra, which gives equal values equal forms.
    Pass{"merge_duplicates", 1, merge_duplicates},
    // After equal parts of a formula are merged, before the fusions that use its result.
    Pass{"recognise_formulas", 2, recognise_formulas},
    // After a softmax is one step, before products fuse later operators.
    Pass{"fuse_attention", 2, fuse_attention},
    // Their adjacent pairs are functions of bytes.
    Pass{"move_bytes", 2, move_bytes},
    // Before the fusions take parts of the functions away.
    Pass{"tabulate_bytes", 2, tabulate_bytes},
    // After functions of bytes are tables, which may be the quantisation of a sum again.
    Pass{"fuse_step_sums", 2, fuse_step_sums},
    // Before the fusions: scale and shift of a batch norm go into weights and bias.
    Pass{"fold_batch_norm", 2, fold_batch_norm},
    Pass{"fuse_grain", 2, fuse_grain, means_switch},
    // Before the elementwise fusions take its parts away.
    Pass{"fuse_preprocess", 2, fuse_preprocess, preprocess_switch},
    // y = activation(conv + bias + residual): the epilogue is taken in from the inside out.
    Pass{"fuse_bias", 2, fuse_bias, bias_switch},
    Pass{"fuse_residual", 2, fuse_residual, residual_switch},
    Pass{"fuse_activation", 2, fuse_activation, activation_switch},
    // The operators that no other pass has fused.
    Pass{"fuse_elementwise", 2, fuse_elementwise, elementwise_switch},
    // After convolutions have their activations, so that the moves follow them directly.
    Pass{"fuse_channel_moves", 2, fuse_channel_moves},
    Pass{"order_channels", 2, order_channels},
    // After the passes that read weights; before their dtype changes.
    Pass{"compress_weights", on_request, compress_weights, weights_switch},
    // After the fusions, whose inner values stay f32.
    Pass{"store_as_f16", on_request, store_as_f16, f16_switch},
    Pass{"store_as_bf16", on_request, store_as_bf16, bf16_switch},
    // Last: its cost is that of the final operators, including epilogues.
    Pass{"choose_layout", 2, choose_layout},
};

void check_names(const PassOptions& options) {
    for (auto& [name, on] : options.passes) {
        auto is_it = [&wanted = name](auto& pass) { return pass.name == wanted; };
        if (std::any_of(passes.begin(), passes.end(), is_it)) continue;
        throw_value_error("passes", "there is no pass '", name, "'; there are ",
                          joined(passes, ", ", &Pass::name));
    }
}

bool is_on(const Pass& pass, const Graph& graph, const PassOptions& options) {
    if (auto it = options.passes.find(pass.name); it != options.passes.end()) return it->second;
    auto switched = pass.is_switched_on ? pass.is_switched_on(graph, options) : std::nullopt;
    return switched.value_or(options.level >= pass.level);
}

// The structure of a graph without the numbers of its values, which change whenever a graph is rebuilt.
std::string signature(const Graph& graph) {
    std::string result;
    for (auto& node : graph.nodes()) {
        result += text(node.op->name, '(', params_text(node.op->fields, node.params.get()), ')');
        for (ValueId id : node.inputs) result += id == no_value ? " -" : text(' ', graph.value(id).spec);
    }
    return result;
}

// The node of `after` that does the work of a node of `before`; null if there is none.
const Node* successor(const Graph& after, const Node& node) {
    for (auto& other : after.nodes())
        if (std::includes(other.sources.begin(), other.sources.end(), node.sources.begin(),
                          node.sources.end()))
            return &other;
    return nullptr;
}

// A line for each node whose work is replaced.
void log_replaced(const Pass& pass, const Graph& before, const Graph& after) {
    for (auto& node : before.nodes()) {
        if (node.sources.empty()) continue;
        const Node* now = successor(after, node);
        if (!now)
            log_line(LogChannel::passes, text(pass.name, ": ", operator_text(before, node), " is gone"));
        else if (now->op != node.op || now->sources != node.sources ||
                 !node.op->params.equal(node.params.get(), now->params.get()))
            log_line(LogChannel::passes,
                     text(pass.name, ": ", operator_text(before, node), " -> ", operator_text(after, *now)));
    }
}

Graph run_pass(const Pass& pass, Graph graph, const PassOptions& options) {
    graph = pass.run(std::move(graph), options);
    if (options.verify) verify(graph);
    return graph;
}

Graph run_logged(const Pass& pass, Graph graph, const PassOptions& options) {
    const Graph source = graph;
    auto start = std::chrono::steady_clock::now();
    graph = run_pass(pass, std::move(graph), options);
    std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    if (signature(graph) == signature(source)) return graph;
    log_line(LogChannel::passes, text(pass.name, ": ", source.nodes().size(), " -> ", graph.nodes().size(),
                                      " nodes in ", time.count(), " ms"));
    if (options.log_level > 1) log_replaced(pass, source, graph);
    return graph;
}

std::vector<const Pass*> passes_on(const Graph& graph, const PassOptions& options) {
    std::vector<const Pass*> on;
    for (auto& pass : passes)
        if (is_on(pass, graph, options)) on.push_back(&pass);
    on.insert(on.end(), options.own_passes.begin(), options.own_passes.end());
    return on;
}

// A refusal is self-explanatory; a fault of a pass needs the graph for debugging. Running out of memory is
// neither.
bool is_fault(const std::exception& e) {
    if (dynamic_cast<const std::bad_alloc*>(&e)) return false;
    auto* error = dynamic_cast<const Error*>(&e);
    return !error || error->code() == ErrorCode::internal;
}

// The input of the last pass, computed again: keeping each graph until the next exists would cost every
// compilation a fifth.
Graph graph_before_last(Graph graph, std::span<const Pass* const> done, const PassOptions& options) {
    for (auto* pass : done.first(done.size() - 1)) graph = run_pass(*pass, std::move(graph), options);
    return graph;
}

}  // namespace

std::span<const Pass> pipeline() { return passes; }

std::optional<DType> stored_half(const Graph& graph, const PassOptions& options) {
    for (auto& pass : passes) {
        if (pass.run == store_as_f16 && is_on(pass, graph, options)) return DType::f16;
        if (pass.run == store_as_bf16 && is_on(pass, graph, options)) return DType::bf16;
    }
    return std::nullopt;
}

Graph run_passes(Graph graph, const PassOptions& options, std::vector<PassStage>* stages) {
    check_names(options);
    for (size_t i = 0; i < graph.nodes().size(); ++i) graph.node(NodeId(i)).sources = {NodeId(i)};
    note_origins(graph);
    const Graph source = graph;  // constants are shared, so this is small
    auto* run = options.log_level > 0 && log_enabled(LogChannel::passes) ? run_logged : run_pass;
    const auto on = passes_on(graph, options);
    size_t done = 0;
    try {
        for (auto* pass : on) {
            ++done;
            graph = run(*pass, std::move(graph), options);
            if (stages) stages->push_back({std::string(pass->name), graph});
        }
    } catch (const std::exception& e) {
        if (is_fault(e))
            log_warning(text("pass ", on[done - 1]->name, " failed: ", e.what(), "\nIts graph was:\n",
                             to_text(graph_before_last(source, std::span(on).first(done), options))));
        throw;
    }
    return graph;
}

}  // namespace mge
