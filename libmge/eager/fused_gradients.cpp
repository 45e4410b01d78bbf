// SPDX-License-Identifier: Apache-2.0
#include "libmge/eager/fused_gradients.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <unordered_map>
#include <vector>

#include "libmge/graph/builder.h"
#include "libmge/graph/inner_graph.h"
#include "libmge/op/apply.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

constexpr size_t bytes_worth_fusing = 16 << 10;
constexpr size_t most_inputs = 16;
// Recording takes as long as many runs of a small rule, which a tensor of another size each time would pay
// in vain.
constexpr int calls_before_recording = 2;
constexpr size_t max_rules = 1024;  // the cache is cleared beyond this

// The rule for tensors of these specs on one device, on which its constants are stored.
struct Rule {
    const OpInfo* op;
    std::shared_ptr<const void> params;
    DeviceId device;
    TensorSpecs specs;
    std::vector<bool> needed;
    int calls = 0;                // up to the recording
    Graph graph;                  // without outputs if it is not recorded or fusion does not shorten it
    std::vector<size_t> results;  // per output of the graph: the input of which it is the gradient
};

bool may_be_fused(const GradientArguments& a) {
    if (&current_interpreter() != &eager_interpreter() || a.op.traits.effect || a.op.traits.control)
        return false;
    if (a.inputs.size() > most_inputs || !a.outputs[0] || !a.outputs[0].shape().is_known() ||
        a.outputs[0].spec().bytes() < bytes_worth_fusing)
        return false;
    for (size_t i = 0; i < a.inputs.size(); ++i)
        if (input_info(a.op, i).kind == InputKind::host) return false;
    const DeviceId device = a.outputs[0].device();
    auto is_there = [&](const Tensor& tensor) {
        return !tensor || (!tensor.is_symbolic() && tensor.shape().is_known() && tensor.device() == device);
    };
    for (auto tensors : {a.inputs, a.outputs, a.output_grads})
        if (!std::ranges::all_of(tensors, is_there)) return false;
    return device.is_host();
}

// Inputs, outputs and gradients of outputs, null ones included.
Tensors operands_of(const GradientArguments& a) {
    Tensors all(a.inputs.begin(), a.inputs.end());
    all.insert(all.end(), a.outputs.begin(), a.outputs.end());
    all.insert(all.end(), a.output_grads.begin(), a.output_grads.end());
    return all;
}

// Sets graph and results.
void fuse(Rule& rule, const GradientArguments& a, const Tensors& operands) try {
    GraphBuilder builder;
    Tensors symbols;
    for (auto& operand : operands)
        symbols.push_back(operand ? builder.input(operand.spec(), {}, operand.device()) : Tensor());
    std::span<const Tensor> x = std::span(symbols).first(a.inputs.size());
    std::span<const Tensor> y = std::span(symbols).subspan(x.size(), a.outputs.size());
    std::span<const Tensor> dy = std::span(symbols).subspan(x.size() + y.size());
    InterpreterScope scope(builder);
    const Tensors grads = a.op.gradient({a.op, a.params, x, y, dy, a.needed});
    Tensors outputs;
    for (size_t i = 0; i < grads.size(); ++i) {
        if (!grads[i]) continue;
        rule.results.push_back(i);
        outputs.push_back(grads[i]);
    }
    builder.set_outputs(outputs);
    const PassOptions options;
    const Graph plain = remove_dead_nodes(builder.take(), options);
    Graph fused = fuse_elementwise(plain, options);
    if (fused.nodes().size() < plain.nodes().size()) rule.graph = std::move(fused);
} catch (const Error&) {
    // The rule will report it.
}

uint64_t hash_of(const GradientArguments& a, const TensorSpecs& specs) {
    uint64_t hash = hash_mix(reinterpret_cast<uintptr_t>(&a.op), a.op.params.hash(a.params));
    hash = hash_mix(hash, a.outputs[0].device().hash());
    for (bool is_needed : a.needed) hash = hash_mix(hash, is_needed);
    for (auto& spec : specs) {
        hash = hash_mix(hash, uint64_t(spec.dtype));
        for (int64_t extent : spec.shape.dims()) hash = hash_mix(hash, uint64_t(extent));
    }
    return hash;
}

Rule& find_rule(const GradientArguments& a, const Tensors& operands) {
    thread_local std::unordered_multimap<uint64_t, Rule> known;
    const DeviceId device = a.outputs[0].device();
    TensorSpecs specs = specs_of(operands);
    const uint64_t hash = hash_of(a, specs);
    auto [begin, end] = known.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
        Rule& rule = it->second;
        if (rule.op == &a.op && rule.device == device && rule.specs == specs &&
            std::ranges::equal(rule.needed, a.needed) && a.op.params.equal(rule.params.get(), a.params))
            return rule;
    }
    if (known.size() >= max_rules) known.clear();
    Rule rule{.op = &a.op,
              .params = a.op.params.copy(a.params),
              .device = device,
              .specs = std::move(specs),
              .needed = {a.needed.begin(), a.needed.end()},
              .graph = {},
              .results = {}};
    return known.emplace(hash, std::move(rule))->second;
}

Tensors run_rule(const Rule& rule, const Tensors& operands, size_t count) {
    Tensors inputs;
    std::ranges::copy_if(operands, std::back_inserter(inputs), [](auto& operand) { return bool(operand); });
    const Tensors results = apply_graph(rule.graph, inputs);
    Tensors grads(count);
    for (size_t i = 0; i < results.size(); ++i) grads[rule.results[i]] = results[i];
    return grads;
}

}  // namespace

std::optional<Tensors> fused_gradients(const GradientArguments& arguments) {
    if (!may_be_fused(arguments)) return std::nullopt;
    const Tensors operands = operands_of(arguments);
    Rule& rule = find_rule(arguments, operands);
    if (rule.calls <= calls_before_recording && rule.calls++ == calls_before_recording)
        fuse(rule, arguments, operands);
    if (rule.graph.outputs().empty()) return std::nullopt;
    return run_rule(rule, operands, arguments.inputs.size());
}

}  // namespace mge
