// SPDX-License-Identifier: Apache-2.0
#pragma once
// How passes change a graph: they walk the old one in order and build a new one, copying what stays and
// emitting what replaces the rest. Dead constants stay behind by themselves.

#include <initializer_list>
#include <optional>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge {

class MGE_API Rewrite {
public:
    explicit Rewrite(const Graph& source);

    const Graph& source() const { return source_; }
    Graph& target() { return target_; }

    // Where a value of the source is in the target. Inputs and constants are there from the start; what a
    // node computes, once it was copied or replaced.
    ValueId operator()(ValueId value);
    std::vector<ValueId> operator()(const std::vector<ValueId>& values);

    void copy(NodeId node);
    // The same node with other parameters or inputs (values of the target).
    void copy_with(NodeId node, std::shared_ptr<const void> params, std::vector<ValueId> inputs);
    // One output, inferred anew: stands for output 0 of the source's node.
    void emit(NodeId node, const OpInfo& op, std::shared_ptr<const void> params, std::vector<ValueId> inputs,
              std::string name);
    // Readers of the source's value will read the target's, which is the same value from now on, and whose
    // node does the work of the source's.
    void replace(ValueId source, ValueId target);
    // Work of another node of the source that the target's value stands for as well: for fusions.
    void absorb(NodeId source, ValueId target);

    Graph finish();

private:
    const Graph& source_;
    Graph target_;
    std::vector<ValueId> moved_;
};

// `to` does the work of `from` as well.
MGE_API void take_work(const Node& from, Node& to);

// A parameter by its name; nullopt when the operator has none of that name.
MGE_API std::optional<ParamValue> find_param(const Node& node, std::string_view name);
// A copy of the parameters with one changed; UserError when the operator has no such parameter or value.
MGE_API std::shared_ptr<const void> with_param(const OpInfo& op, const void* params, std::string_view name,
                                               const ParamValue& value);

// Whether a node is one of these operators: a graph without them is left as it is, since building one anew
// costs more than looking.
MGE_API bool has_operator(const Graph& graph, std::initializer_list<const OpInfo*> ops);

// The input of that name; no_value when it is absent or the operator has none.
MGE_API ValueId named_input(const Node& node, std::string_view name);
// Position of the input of that name; nullopt when the operator has none.
MGE_API std::optional<size_t> input_position(const OpInfo& op, std::string_view name);

// The constant behind a value, null when it is none.
MGE_API Tensor constant_of(const Graph& graph, ValueId value);

MGE_API bool same_params(const Node& a, const Node& b);

}  // namespace mge
