// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/origins.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "libmge/base/hash.h"

namespace mge {
namespace {

constexpr size_t most_in_label = 24;  // operators
// Longer sequences are matched only by name: the table below would need gigabytes.
constexpr size_t most_cells = size_t(1) << 26;

// Hashes what an operator does in any state of its network: all parameters except `training`, the present
// inputs, and the sizes of constant ones.
uint64_t kind_of(const Graph& graph, const Node& node) {
    std::string all = text(node.op->name, ':', node.op->version);
    for (auto& field : node.op->fields)
        if (field.name != "training")
            all += text(';', field.name, '=', to_text(field.get(node.params.get())));
    for (ValueId id : node.inputs) {
        if (id == no_value) {
            all += " -";
            continue;
        }
        auto& value = graph.value(id);
        all += value.is_constant() ? text(' ', value.spec.shape) : " x";
    }
    return checksum(all);
}

SourceNode describe(const Graph& graph, NodeId id) {
    auto& node = graph.node(id);
    std::string name = node.name.empty() ? graph.value(node.outputs.at(0)).name : node.name;
    return {id, std::string(node.op->name), std::move(name), int(node.outputs.size()), kind_of(graph, node)};
}

const SourceNode* find_source(const Graph& graph, NodeId origin) {
    auto& all = graph.source_nodes();
    return all && origin >= 0 && size_t(origin) < all->size() ? &(*all)[size_t(origin)] : nullptr;
}

std::string label_of(const Graph& graph, const ValueOrigin& origin) {
    auto* source = find_source(graph, origin.node);
    std::string name = source ? label(*source) : text("operator#", origin.node);
    return source && source->outputs > 1 ? text(name, ":o", origin.output) : name;
}

// Finds the longest common subsequence: lengths[i][j] is that of a[i:] and b[j:].
void match_in_order(const std::vector<SourceNode>& a, const std::vector<SourceNode>& b,
                    std::vector<NodeId>& result) {
    auto same = [&](size_t i, size_t j) { return a[i].op == b[j].op && a[i].kind == b[j].kind; };
    size_t begin = 0, end_a = a.size(), end_b = b.size();
    for (; begin < end_a && begin < end_b && same(begin, begin); ++begin) result[begin] = NodeId(begin);
    for (; end_a > begin && end_b > begin && same(end_a - 1, end_b - 1); --end_a, --end_b)
        result[end_a - 1] = NodeId(end_b - 1);
    size_t rows = end_a - begin, columns = end_b - begin;
    if (rows == 0 || columns == 0 || rows > most_cells / columns) return;
    std::vector<int> lengths((rows + 1) * (columns + 1));
    auto length = [&](size_t i, size_t j) -> int& { return lengths[i * (columns + 1) + j]; };
    for (size_t i = rows; i-- > 0;)
        for (size_t j = columns; j-- > 0;)
            length(i, j) = same(begin + i, begin + j) ? length(i + 1, j + 1) + 1
                                                      : std::max(length(i + 1, j), length(i, j + 1));
    for (size_t i = 0, j = 0; i < rows && j < columns;) {
        if (same(begin + i, begin + j)) {
            result[begin + i++] = NodeId(begin + j++);
        } else if (length(i + 1, j) >= length(i, j + 1)) {
            ++i;
        } else {
            ++j;
        }
    }
}

// Maps names to numbers; -1 for an ambiguous name.
std::unordered_map<std::string, NodeId> by_name(const std::vector<SourceNode>& nodes) {
    std::unordered_map<std::string, NodeId> result;
    for (size_t i = 0; i < nodes.size(); ++i)
        if (!nodes[i].name.empty())
            if (auto [it, is_new] = result.try_emplace(nodes[i].name, NodeId(i)); !is_new) it->second = -1;
    return result;
}

void match_names(const std::vector<SourceNode>& a, const std::vector<SourceNode>& b,
                 std::vector<NodeId>& result) {
    auto in_a = by_name(a), in_b = by_name(b);
    std::vector<bool> is_taken(b.size());
    for (NodeId id : result)
        if (id >= 0) is_taken[size_t(id)] = true;
    for (auto& [name, id] : in_a) {
        auto it = in_b.find(name);
        if (id < 0 || result[size_t(id)] >= 0 || it == in_b.end() || it->second < 0) continue;
        if (is_taken[size_t(it->second)] || a[size_t(id)].op != b[size_t(it->second)].op) continue;
        result[size_t(id)] = it->second;
    }
}

}  // namespace

void note_origins(Graph& graph) {
    if (graph.source_nodes()) return;
    auto all = std::make_shared<std::vector<SourceNode>>();
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
        all->push_back(describe(graph, NodeId(i)));
        graph.node(NodeId(i)).origins = {NodeId(i)};
        for (ValueId id : graph.node(NodeId(i)).outputs)
            graph.value(id).origins = {{NodeId(i), graph.value(id).output_index}};
    }
    graph.set_source_nodes(std::move(all));
}

bool is_own_source(const Graph& graph) {
    auto& all = graph.source_nodes();
    if (!all) return true;
    if (all->size() != graph.nodes().size()) return false;
    for (size_t i = 0; i < all->size(); ++i) {
        auto id = NodeId(i);
        auto& node = graph.node(id);
        if (node.origins != std::vector{id} || !((*all)[i] == describe(graph, id))) return false;
        for (size_t k = 0; k < node.outputs.size(); ++k)
            if (graph.value(node.outputs[k]).origins != std::vector{ValueOrigin{id, int(k)}}) return false;
    }
    return true;
}

std::vector<NodeId> match_sources(const std::vector<SourceNode>& a, const std::vector<SourceNode>& b) {
    std::vector<NodeId> result(a.size(), -1);
    if (std::ranges::equal(a, b, {}, &SourceNode::op, &SourceNode::op)) {
        for (size_t i = 0; i < a.size(); ++i) result[i] = NodeId(i);
        return result;
    }
    match_in_order(a, b, result);
    match_names(a, b, result);
    return result;
}

std::string kind_text(uint64_t kind) {
    char digits[16];
    return {digits, std::to_chars(digits, std::end(digits), kind, 16).ptr};
}

std::optional<uint64_t> parse_kind(std::string_view text) {
    uint64_t kind = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), kind, 16);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(kind) : std::nullopt;
}

std::string label(const SourceNode& source) {
    return source.name.empty() ? text(source.op, '#', source.id) : source.name;
}

std::vector<std::string> labels(std::span<const SourceNode> sources) {
    std::vector<std::string> result;
    for (auto& source : sources)
        if (std::string name = label(source); std::ranges::find(result, name) == result.end())
            result.push_back(std::move(name));
    return result;
}

std::string node_label(const Graph& graph, const Node& node) {
    std::string result, last;
    for (size_t i = 0; i < node.origins.size(); ++i) {
        if (i == most_in_label) return text(result, "+", node.origins.size() - i, " more");
        auto* source = find_source(graph, node.origins[i]);
        if (!source || label(*source) == last) continue;
        last = label(*source);
        result += (result.empty() ? "" : "+") + last;
    }
    if (!result.empty()) return result;
    ValueId first = node.outputs.at(0);
    if (!node.name.empty()) return node.name;
    if (!graph.value(first).name.empty()) return graph.value(first).name;
    // If the input was also created by a pass, use a number: a name would follow the whole chain.
    ValueId input = graph.source_nodes() && !node.inputs.empty() ? node.inputs[0] : no_value;
    bool is_named =
        input != no_value && (!graph.value(input).name.empty() || !graph.value(input).origins.empty());
    return is_named ? text(node.op->name, " of ", value_label(graph, input))
                    : text(node.op->name, '#', graph.value(first).producer);
}

std::string value_label(const Graph& graph, ValueId id) {
    auto& value = graph.value(id);
    if (!value.name.empty()) return value.name;
    if (!value.origins.empty()) return label_of(graph, value.origins.front());
    if (value.producer < 0) return text(value.is_constant() ? "constant#" : "input#", id);
    auto& node = graph.node(value.producer);
    std::string name = node_label(graph, node);
    return node.outputs.size() > 1 ? text(name, ":o", value.output_index) : name;
}

std::vector<std::string> other_labels(const Graph& graph, ValueId id) {
    std::vector<std::string> result;
    std::string own = value_label(graph, id);
    for (auto& origin : graph.value(id).origins)
        if (std::string other = label_of(graph, origin); other != own) result.push_back(std::move(other));
    return result;
}

std::string operator_text(std::string_view op, std::string_view label) {
    return label.empty() ? std::string(op) : text(op, " '", label, "'");
}

std::string operator_text(const Graph& graph, const Node& node) {
    return operator_text(node.op->name, node_label(graph, node));
}

}  // namespace mge
