// SPDX-License-Identifier: Apache-2.0
#include "libmge/eager/gradient_reads.h"

#include <memory>
#include <unordered_map>
#include <vector>

#include "libmge/graph/builder.h"

namespace mge {
namespace {

constexpr size_t max_known = 64;      // bits of a mask
constexpr size_t max_entries = 4096;  // the cache is cleared beyond this

struct Entry {
    const OpInfo* op;
    std::shared_ptr<const void> params;
    TensorSpecs inputs;
    GradientReads reads;
};

uint64_t hash_of(const OpInfo& op, const void* params, const TensorSpecs& specs) {
    uint64_t hash = hash_mix(reinterpret_cast<uintptr_t>(&op), op.params.hash(params));
    for (auto& spec : specs) {
        hash = hash_mix(hash, uint64_t(spec.dtype));
        for (int64_t extent : spec.shape.dims()) hash = hash_mix(hash, uint64_t(extent));
    }
    return hash;
}

Tensors symbols_for(GraphBuilder& builder, std::span<const Tensor> tensors) {
    Tensors symbols;
    for (auto& tensor : tensors)
        symbols.push_back(tensor ? builder.input(tensor.spec(), {}, tensor.device()) : Tensor());
    return symbols;
}

// Marks the values of the graph whose elements its outputs depend on.
std::vector<bool> read_values(const Graph& graph) {
    std::vector<bool> read(graph.values().size());
    for (ValueId output : graph.outputs())
        if (output != no_value) read[size_t(output)] = true;
    for (size_t i = graph.nodes().size(); i-- > 0;) {
        auto& node = graph.nodes()[i];
        bool is_needed = false;
        for (ValueId output : node.outputs) is_needed = is_needed || read[size_t(output)];
        if (!is_needed || node.op->traits.reads_only_specs) continue;
        for (ValueId input : node.inputs)
            if (input != no_value) read[size_t(input)] = true;
    }
    return read;
}

uint64_t mask_of(const Tensors& symbols, const std::vector<bool>& read) {
    uint64_t mask = 0;
    for (size_t i = 0; i < symbols.size(); ++i)
        if (symbols[i] && read[size_t(symbols[i].impl()->symbol)]) mask |= uint64_t(1) << i;
    return mask;
}

GradientReads find_reads(const OpInfo& op, const void* params, std::span<const Tensor> inputs,
                         std::span<const Tensor> outputs) {
    GraphBuilder builder;
    Tensors x = symbols_for(builder, inputs), y = symbols_for(builder, outputs);
    Tensors dy = symbols_for(builder, outputs);
    for (auto& grad : dy)
        if (grad && !is_float(grad.dtype())) grad = {};
    auto needed = std::make_unique<bool[]>(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) needed[i] = inputs[i] && is_float(inputs[i].dtype());
    InterpreterScope scope(builder);
    try {
        builder.set_outputs(op.gradient({op, params, x, y, dy, {needed.get(), inputs.size()}}));
    } catch (const Error&) {
        // The backward pass will report the error; until then keep everything.
        return {};
    }
    auto read = read_values(builder.graph());
    return {mask_of(x, read), mask_of(y, read)};
}

}  // namespace

GradientReads gradient_reads(const OpInfo& op, const void* params, std::span<const Tensor> inputs,
                             std::span<const Tensor> outputs) {
    if (inputs.size() > max_known || outputs.size() > max_known) return {};
    thread_local std::unordered_multimap<uint64_t, Entry> known;
    TensorSpecs specs = specs_of(inputs);
    uint64_t hash = hash_of(op, params, specs);
    auto [begin, end] = known.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
        const Entry& entry = it->second;
        if (entry.op == &op && entry.inputs == specs && op.params.equal(entry.params.get(), params))
            return entry.reads;
    }
    if (known.size() >= max_entries) known.clear();
    GradientReads reads = find_reads(op, params, inputs, outputs);
    known.emplace(hash, Entry{&op, op.params.copy(params), std::move(specs), reads});
    return reads;
}

}  // namespace mge
