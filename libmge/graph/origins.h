// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where operators and values come from, and what they are called: the one name of an operator for people, in
// every tool, whatever the passes made of it.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge {

// Makes a graph that has no source its own: from now on its nodes and values know where they come from.
MGE_API void note_origins(Graph& graph);
// Every node and value comes from the one of the same place: then a file need not say so.
MGE_API bool is_own_source(const Graph& graph);

// The numbers in `b` of the operators of `a`; −1 for those that `b` does not have. Equal sequences of
// operators are the same network; others (in training or not, with an operator more or less) have what stands
// in the same order in both, and what has the same name.
MGE_API std::vector<NodeId> match_sources(const std::vector<SourceNode>& a, const std::vector<SourceNode>& b);

// A SourceNode's kind in files: "5f00aa".
MGE_API std::string kind_text(uint64_t kind);
MGE_API std::optional<uint64_t> parse_kind(std::string_view text);

// "conv1", or "conv2d#30" when nobody named it.
MGE_API std::string label(const SourceNode& source);
// Each once: operators that stand for one node of another program's model have one name.
MGE_API std::vector<std::string> labels(std::span<const SourceNode> sources);
// After all operators whose work it does: "conv2d#30+add#32+relu#33". "reorder of relu#33" when a pass made
// it up. Never empty.
MGE_API std::string node_label(const Graph& graph, const Node& node);
// The value's own name, else that of the operator it comes from, ":o1" behind it when that has several
// outputs. Never empty.
MGE_API std::string value_label(const Graph& graph, ValueId id);
// What else it would be called: by the other values of the source graph that it is.
MGE_API std::vector<std::string> other_labels(const Graph& graph, ValueId id);

// "conv2d 'conv1'": how messages speak of an operator.
MGE_API std::string operator_text(std::string_view op, std::string_view label);
MGE_API std::string operator_text(const Graph& graph, const Node& node);

}  // namespace mge
