// SPDX-License-Identifier: Apache-2.0
// Chains and small trees of elementwise operators become one `fused_elementwise`, so that what flows between
// them stays in the first-level cache instead of going through memory. A node takes in the producer of an
// input when nobody else reads that value and its shape is the result's (a smaller one would be computed
// again for every place it is broadcast to). Scalar constants become part of the program.

#include <algorithm>

#include "libmge/ops/elementwise/fused.h"
#include "libmge/passes/pass.h"
#include "libmge/passes/rewrite.h"

namespace mge {
namespace {

// Programs are kept short: every input and every step holds a block of the cache.
constexpr size_t max_steps = 16, max_inputs = 8;

class Fuser {
public:
    explicit Fuser(const Graph& graph) : graph_(graph), uses_(graph.use_counts()), rewrite_(graph) {}

    Graph run() && {
        grow_groups();
        for (size_t i = 0; i < graph_.nodes().size(); ++i) {
            if (is_absorbed_[i]) continue;
            if (members_[i].size() > 1)
                emit(NodeId(i));
            else
                rewrite_.copy(NodeId(i));
        }
        return rewrite_.finish();
    }

private:
    // Numbers that the program holds itself.
    static bool is_scalar_constant(const Value& value) {
        return value.is_constant() && value.spec.numel() == 1 &&
               (value.spec.dtype == DType::f32 || value.spec.dtype == DType::i32);
    }
    bool is_candidate(const Node& node) const {
        if (node.op->name == ops::FusedElementwise::name || node.outputs.size() != 1 ||
            !node.op->traits.elementwise || !ops::is_fusible(*node.op, node.params.get()))
            return false;
        if (node.inputs.size() != node.op->inputs.size()) return false;
        auto is_known = [&](ValueId id) { return id != no_value && graph_.value(id).spec.shape.is_known(); };
        return is_known(node.outputs[0]) && std::all_of(node.inputs.begin(), node.inputs.end(), is_known);
    }

    // Values that a group of nodes reads from outside, scalar constants apart.
    std::vector<ValueId> inputs_of(const std::vector<NodeId>& group) const {
        std::vector<ValueId> inputs;
        for (NodeId id : group)
            for (ValueId value : graph_.node(id).inputs) {
                bool is_inside =
                    std::find(group.begin(), group.end(), graph_.value(value).producer) != group.end();
                bool is_new = std::find(inputs.begin(), inputs.end(), value) == inputs.end();
                if (!is_inside && is_new && !is_scalar_constant(graph_.value(value))) inputs.push_back(value);
            }
        return inputs;
    }

    // A node's group is itself and the groups of the producers it takes in.
    void grow_groups() {
        members_.resize(graph_.nodes().size());
        is_absorbed_.assign(graph_.nodes().size(), false);
        for (size_t i = 0; i < graph_.nodes().size(); ++i) {
            auto& node = graph_.node(NodeId(i));
            members_[i] = {NodeId(i)};
            if (!is_candidate(node)) continue;
            for (ValueId value : node.inputs) take_in(NodeId(i), value);
        }
    }
    void take_in(NodeId id, ValueId value) {
        auto& source = graph_.value(value);
        NodeId producer = source.producer;
        if (producer < 0 || is_absorbed_[size_t(producer)] || !is_candidate(graph_.node(producer))) return;
        auto& readers = graph_.node(id).inputs;
        auto reads = std::count(readers.begin(), readers.end(), value);
        if (uses_[size_t(value)] != reads) return;
        if (!(source.spec.shape == graph_.value(graph_.node(id).outputs[0]).spec.shape)) return;
        auto group = members_[size_t(producer)];
        group.insert(group.end(), members_[size_t(id)].begin(), members_[size_t(id)].end());
        std::sort(group.begin(), group.end());
        if (group.size() > max_steps || inputs_of(group).size() > max_inputs || inputs_of(group).empty())
            return;
        members_[size_t(id)] = std::move(group);
        is_absorbed_[size_t(producer)] = true;
    }

    static double number_in(const Tensor& scalar) {
        return scalar.dtype() == DType::f32 ? double(*scalar.data<float>()) : double(*scalar.data<int32_t>());
    }

    void emit(NodeId last) {
        auto& group = members_[size_t(last)];
        auto inputs = inputs_of(group);
        ops::FusedProgram program(int(inputs.size()));
        std::vector<std::pair<ValueId, int>> registers;
        for (size_t i = 0; i < inputs.size(); ++i) registers.emplace_back(inputs[i], int(i));
        auto register_of = [&](ValueId value) {
            for (auto& [id, number] : registers)
                if (id == value) return number;
            auto& source = graph_.value(value);
            registers.emplace_back(value, program.constant(number_in(source.constant), source.spec.dtype));
            return registers.back().second;
        };
        for (NodeId id : group) {
            auto& node = graph_.node(id);
            std::vector<int> operands;
            for (ValueId value : node.inputs) operands.push_back(register_of(value));
            registers.emplace_back(node.outputs[0], program.add(*node.op, node.params.get(), operands));
        }
        auto params = std::make_shared<ops::FusedElementwise::Params>();
        params->program = program.text();
        // A constant of more axes than all inputs would widen the result: as part of the program it does not.
        auto expected = graph_.value(graph_.node(last).outputs[0]).spec;
        TensorSpecs specs;
        for (ValueId value : inputs) specs.push_back(graph_.value(value).spec);
        if (!(ops::FusedElementwise::infer(*params, specs).at(0) == expected)) {
            for (NodeId id : group) rewrite_.copy(id);
            return;
        }
        rewrite_.emit(last, ops::FusedElementwise::info, params, rewrite_(inputs), graph_.node(last).name);
        for (NodeId id : group) rewrite_.absorb(id, rewrite_(graph_.node(last).outputs[0]));
    }

    const Graph& graph_;
    std::vector<int> uses_;
    Rewrite rewrite_;
    std::vector<std::vector<NodeId>> members_;  // in order; only for nodes that were not taken in
    std::vector<bool> is_absorbed_;
};

}  // namespace

Graph fuse_elementwise(Graph graph, const PassOptions&) { return Fuser(graph).run(); }

}  // namespace mge
