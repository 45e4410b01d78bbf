// SPDX-License-Identifier: Apache-2.0
// Two nodes with the same operator, parameters and inputs compute the same (randomness is an input, too),
// unless they have an effect: the second is dropped and its readers take the first. Small constants with
// equal contents become one first, so that nodes written with separate literals are recognised.

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "libmge/graph/inner_graph.h"
#include "libmge/graph/rewrite.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

constexpr size_t small_constant = 4096;  // bytes; comparing weights would cost more than it finds

uint64_t hash_constant(const Tensor& tensor) {
    return hash_mix(uint64_t(tensor.dtype()), checksum(tensor.data(), tensor.spec().bytes()));
}

bool same_constant(const Tensor& a, const Tensor& b) {
    return a.spec() == b.spec() && std::memcmp(a.data(), b.data(), a.spec().bytes()) == 0;
}

void merge_constants(Rewrite& rewrite) {
    auto& graph = rewrite.source();
    std::unordered_multimap<uint64_t, ValueId> seen;
    for (size_t i = 0; i < graph.values().size(); ++i) {
        auto& value = graph.value(ValueId(i));
        if (!value.is_constant() || value.spec.bytes() > small_constant) continue;
        uint64_t hash = hash_constant(value.constant);
        auto [begin, end] = seen.equal_range(hash);
        auto it = std::find_if(begin, end, [&](auto& entry) {
            auto& other = graph.value(entry.second);
            return other.device == value.device && same_constant(other.constant, value.constant);
        });
        if (it == end)
            seen.emplace(hash, ValueId(i));
        else
            rewrite.replace(ValueId(i), rewrite(it->second));
    }
}

uint64_t hash_node(const Node& node, const std::vector<ValueId>& inputs) {
    uint64_t hash = hash_mix(reinterpret_cast<uintptr_t>(node.op), node.op->params.hash(node.params.get()));
    for (ValueId id : inputs) hash = hash_mix(hash, uint64_t(id));
    return hash;
}

}  // namespace

Graph merge_duplicates(Graph graph, const PassOptions&) {
    Rewrite rewrite(graph);
    merge_constants(rewrite);
    std::unordered_multimap<uint64_t, NodeId> seen;  // nodes of the target
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
        auto& node = graph.node(NodeId(i));
        auto inputs = rewrite(node.inputs);
        uint64_t hash = hash_node(node, inputs);
        auto [begin, end] = seen.equal_range(hash);
        auto it = std::find_if(begin, end, [&](auto& entry) {
            auto& other = rewrite.target().node(entry.second);
            return !has_effect(node) && same_params(node, other) && other.inputs == inputs &&
                   rewrite.target().place(other) == graph.place(node);
        });
        if (it == end) {
            rewrite.copy_with(NodeId(i), node.params, std::move(inputs));
            seen.emplace(hash, NodeId(rewrite.target().nodes().size()) - 1);
            continue;
        }
        for (size_t k = 0; k < node.outputs.size(); ++k)
            rewrite.replace(node.outputs[k], rewrite.target().node(it->second).outputs[k]);
    }
    return rewrite.finish();
}

}  // namespace mge
