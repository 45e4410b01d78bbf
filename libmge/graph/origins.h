// SPDX-License-Identifier: Apache-2.0
#pragma once
// Origins and names of operators and values. An operator has the same name in every tool, whatever the passes
// did to it.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge {

// Makes a graph without a source its own source: sets the origins of its nodes and values.
MGE_API void note_origins(Graph& graph);
// True if every node and value originates from its own position, so that files can omit the origins.
MGE_API bool is_own_source(const Graph& graph);

// Returns, for each operator of `a`, its number in `b`, or -1. Equal sequences are the same network.
// Otherwise (in training or not, with an operator added or removed), operators match by common order and by
// name.
MGE_API std::vector<NodeId> match_sources(const std::vector<SourceNode>& a, const std::vector<SourceNode>& b);

// The form of a SourceNode's kind in files: "5f00aa".
MGE_API std::string kind_text(uint64_t kind);
MGE_API std::optional<uint64_t> parse_kind(std::string_view text);

// Returns "conv1", or "conv2d#30" for an operator without a name.
MGE_API std::string label(const SourceNode& source);
// Without duplicates: several operators may come from one node of another framework's model.
MGE_API std::vector<std::string> labels(std::span<const SourceNode> sources);
// Names all operators whose work the node does: "conv2d#30+add#32+relu#33", or "reorder of relu#33" if a pass
// created it. Never empty.
MGE_API std::string node_label(const Graph& graph, const Node& node);
// Returns the value's own name, else that of its operator, with ":o1" appended for one of several outputs.
// Never empty.
MGE_API std::string value_label(const Graph& graph, ValueId id);
// Returns further names: those of the other source values that it equals.
MGE_API std::vector<std::string> other_labels(const Graph& graph, ValueId id);

// Returns "conv2d 'conv1'", the form used in messages.
MGE_API std::string operator_text(std::string_view op, std::string_view label);
MGE_API std::string operator_text(const Graph& graph, const Node& node);

}  // namespace mge
