// SPDX-License-Identifier: Apache-2.0
#pragma once
// How passes change a graph: they walk the old one in order and build a new one, copying nodes or emitting
// replacements. Dead constants are left behind.

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

    // Returns the target's value for a value of the source. Inputs and constants exist from the start; other
    // values once their node is copied or replaced.
    ValueId operator()(ValueId value);
    std::vector<ValueId> operator()(const std::vector<ValueId>& values);

    void copy(NodeId node);
    // Copies a node with other parameters or inputs (values of the target).
    void copy_with(NodeId node, std::shared_ptr<const void> params, std::vector<ValueId> inputs);
    // Emits a node with one inferred output, which replaces output 0 of the source's node.
    void emit(NodeId node, const OpInfo& op, std::shared_ptr<const void> params, std::vector<ValueId> inputs,
              std::string name);
    // Redirects readers of the source's value to the target's. The target's node does the work of the
    // source's from now on.
    void replace(ValueId source, ValueId target);
    // Notes that the target's value also does the work of another node of the source. For fusions.
    void absorb(NodeId source, ValueId target);

    Graph finish();

private:
    const Graph& source_;
    Graph target_;
    std::vector<ValueId> moved_;
};

// Adds the work of `from` to that of `to`.
MGE_API void take_work(const Node& from, Node& to);

// Returns a parameter by name; nullopt if the operator has no such parameter.
MGE_API std::optional<ParamValue> find_param(const Node& node, std::string_view name);
// Returns a copy of the parameters with one changed. Throws UserError if the operator has no such parameter
// or refuses the value.
MGE_API std::shared_ptr<const void> with_param(const OpInfo& op, const void* params, std::string_view name,
                                               const ParamValue& value);

// True if a node is one of these operators. Rebuilding a graph without them would cost more than this check.
MGE_API bool has_operator(const Graph& graph, std::initializer_list<const OpInfo*> ops);

// Returns the input at that position; no_value if it is absent.
inline ValueId given_input(const Node& node, size_t i) {
    return i < node.inputs.size() ? node.inputs[i] : no_value;
}
// Returns the input of that name; no_value if it is absent or does not exist.
MGE_API ValueId named_input(const Node& node, std::string_view name);
// Returns the position of the input of that name; nullopt if it does not exist.
MGE_API std::optional<size_t> input_position(const OpInfo& op, std::string_view name);

// Returns the constant of a value; null if it is not a constant.
MGE_API Tensor constant_of(const Graph& graph, ValueId value);
// True for one value, for two absent ones, and for two constants of one equal number.
MGE_API bool is_same_number(const Graph& graph, ValueId a, ValueId b);

MGE_API bool same_params(const Node& a, const Node& b);

}  // namespace mge
