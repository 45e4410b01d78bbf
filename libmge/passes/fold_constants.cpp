// SPDX-License-Identifier: Apache-2.0
// Computes values that do not depend on the graph's inputs at compile time: nodes whose inputs are all
// constants, and small results that follow from shapes alone if those are fixed. A result that is much larger
// than its inputs (a broadcast, a filled tensor) is computed at run time: memory costs more than filling it
// again. Values that only become wider (weights stored as int8 or f16) cost little more than the kernels'
// packed copies, so they are kept narrow only in files. A check of such values goes if it holds.

#include <algorithm>
#include <set>

#include "libmge/base/files/file_limit.h"
#include "libmge/device/device.h"
#include "libmge/graph/rewrite.h"
#include "libmge/kernel/packed_copies.h"
#include "libmge/op/apply.h"
#include "libmge/op/footprint.h"
#include "libmge/ops/effect/assert_equal.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

constexpr size_t growth_limit = size_t(1) << 18;  // bytes that a result may be larger than its inputs

// Limits of the bytes and operations of all results together. Both grow with the graph's constants: a small
// file must not cost much memory or time before the first run.
struct Budget {
    double bytes = std::min(double(64 << 20), double(file_limit())), operations = 1e9;

    explicit Budget(const Graph& graph) {
        for (auto& value : graph.values())
            if (value.is_constant()) add(double(value.spec.bytes()));
    }
    // False: it would be too much.
    bool take(double more_bytes, double more_operations) {
        if (more_bytes > bytes || more_operations > operations) return false;
        bytes -= more_bytes, operations -= more_operations;
        return true;
    }

private:
    void add(double constant_bytes) {
        bytes += 10 * constant_bytes;
        operations += 100 * constant_bytes;
    }
};

// A check of constants that holds has no other effect.
bool is_quiet_check(const Node& node) {
    return node.op == &ops::AssertEqual::info &&
           !static_cast<const ops::AssertEqual::Params*>(node.params.get())->verbose;
}

bool may_fold(const Node& node) {
    bool has_effect = node.op->traits.effect && !is_quiet_check(node);
    return !node.op->place && !node.op->traits.control && !has_effect;
}

// Whether it might be folded before any other is.
bool starts_folding(const Graph& graph, const Node& node, const PassOptions& options) {
    bool reads_values = !options.fixed_shapes || !node.op->traits.reads_only_specs;
    return may_fold(node) && std::ranges::all_of(node.inputs, [&](ValueId id) {
               return id == no_value || graph.value(id).is_constant() || !reads_values;
           });
}

class Folder {
public:
    Folder(const Graph& graph, bool fixed_shapes)
        : graph_(graph),
          rewrite_(graph),
          values_(graph.values().size()),
          fixed_shapes_(fixed_shapes),
          budget_(graph) {}

    Graph run() && {
        for (size_t i = 0; i < graph_.nodes().size(); ++i)
            if (!fold(graph_.node(NodeId(i)))) rewrite_.copy(NodeId(i));
        return rewrite_.finish();
    }

private:
    Tensor value(ValueId id) const {
        Tensor constant = graph_.value(id).constant;
        return constant ? constant : values_[size_t(id)];
    }

    // Operators whose work depends on values are estimated as sorting.
    double operations_of(const Node& node, const Tensors& inputs, const TensorSpecs& outputs) const {
        constexpr double unknown = 32;
        TensorSpecs specs;
        for (auto& input : inputs) specs.push_back(input ? input.spec() : TensorSpec{DType::none, {}, {}});
        auto known = footprint(*node.op, node.params.get(), specs, outputs).operations;
        return known.value_or(unknown * (element_count(specs) + element_count(outputs)));
    }

    bool fold(const Node& node) {
        if (!may_fold(node)) return false;
        size_t input_bytes = 0, output_bytes = 0;
        int64_t input_elements = 0, output_elements = 0;
        Tensors inputs;
        TensorSpecs outputs_wanted;
        std::set<ValueId> seen;
        for (ValueId id : node.inputs) {
            Tensor input = id == no_value ? Tensor{} : value(id);
            if (id != no_value && !input) {
                auto& spec = graph_.value(id).spec;
                if (!fixed_shapes_ || !node.op->traits.reads_only_specs || !spec.shape.is_known())
                    return false;
                input = without_memory(spec);
            } else if (input && seen.insert(id).second) {
                input_bytes += input.spec().bytes();
                input_elements += input.shape().numel();
            }
            inputs.push_back(std::move(input));
        }
        for (ValueId id : node.outputs) {
            auto& spec = graph_.value(id).spec;
            if (!spec.shape.is_known()) return false;
            output_bytes += spec.bytes();
            output_elements += spec.shape.numel();
            outputs_wanted.push_back(spec);
        }
        bool only_widens = fixed_shapes_ && output_elements <= input_elements;
        if (!only_widens && output_bytes > input_bytes + growth_limit) return false;
        bool is_view = node.op->traits.view || node.op->part_of_input;
        if (!budget_.take(is_view ? 0 : double(output_bytes), operations_of(node, inputs, outputs_wanted)))
            return false;
        // The result may be a view, for which a packed copy is valid as for the constant: it would not be
        // verified.
        for (auto& input : inputs)
            if (input) verify_constant(input.address());
        Tensors outputs;
        try {
            outputs = eager_interpreter().apply(*node.op, node.params.get(), inputs);
        } catch (const Error&) {
            if (!is_quiet_check(node)) throw;
            return false;  // it may be in a branch that is not taken
        }
        for (size_t i = 0; i < outputs.size(); ++i) {
            values_[size_t(node.outputs[i])] = to_host(outputs[i]);
            rewrite_.replace(node.outputs[i],
                             rewrite_.target().add_constant(outputs[i], {}, graph_.place(node)));
        }
        return true;
    }

    const Graph& graph_;
    Rewrite rewrite_;
    Tensors values_;  // by value of the source
    bool fixed_shapes_;
    Budget budget_;
};

}  // namespace

Graph fold_constants(Graph graph, const PassOptions& options) {
    if (std::ranges::none_of(graph.nodes(), [&](auto& node) { return starts_folding(graph, node, options); }))
        return remove_dead_nodes(std::move(graph), options);
    // Folded nodes leave unused constants.
    return remove_dead_nodes(Folder(graph, options.fixed_shapes).run(), options);
}

}  // namespace mge
