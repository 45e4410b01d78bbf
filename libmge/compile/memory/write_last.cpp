// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/memory/write_last.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "libmge/base/log.h"
#include "libmge/base/number_text.h"
#include "libmge/compile/schedule.h"
#include "libmge/graph/inner_graph.h"

namespace mge {
namespace {

// Limit of node inspections: some hundreds of milliseconds.
constexpr size_t most_node_looks = 16'000'000;

bool may_wait(const Node& node) {
    return !node.op->in_place.empty() && !node.op->traits.elementwise && !has_effect(node);
}

// An order of the nodes and its effects. Values are represented by the owners of their memory, and only
// planned values count.
class Order {
public:
    struct Outcome {
        size_t in_place = 0;  // results of movable operators that are in the memory of an operand
        size_t peak = 0;      // bytes alive at once
    };

    Order(const Graph& graph, bool shares_views)
        : graph_(graph),
          schedule_(schedule(graph, {.views = shares_views, .overwrites = false})),
          uses_(graph.nodes().size()),
          last_(graph.values().size()),
          nodes_(uses_.size()),
          entering_(uses_.size()),
          waits_(uses_.size()) {
        for (ValueId id : graph.outputs()) last_[owner(id)] = uses_.size();
        for (auto& step : schedule_.steps) note_uses(step.node);
        std::iota(nodes_.begin(), nodes_.end(), 0);
        positions_.resize(uses_.size());
        arrange(0, nodes_);
    }

    const std::vector<NodeId>& nodes() const { return nodes_; }
    size_t position(NodeId node) const { return positions_[size_t(node)]; }
    // Returns the position of the last reader of operands that a node may overwrite.
    size_t last_reader(NodeId writer) const {
        size_t last = position(writer);
        for (auto [from, to] : uses_[size_t(writer)].pairs) last = std::max(last, last_[from]);
        return last;
    }
    // Returns the nodes up to that position, reordered so that `writer` and its dependents come last. Returns
    // nullopt if a reader of those operands depends on the writer.
    std::optional<std::vector<NodeId>> with_last(NodeId writer, size_t last) {
        std::vector<NodeId> ordered, waiting;
        bool can_wait = true;
        for (size_t at = position(writer); at <= last && can_wait; ++at) {
            NodeId node = nodes_[at];
            waits_[size_t(node)] = node == writer || needs_waiting(node);
            (waits_[size_t(node)] ? waiting : ordered).push_back(node);
            can_wait = node == writer || !waits_[size_t(node)] ||
                       (!has_effect(graph_.node(node)) && !reads_overwritten(node, writer));
        }
        for (NodeId node : waiting) waits_[size_t(node)] = false;
        if (!can_wait) return std::nullopt;
        ordered.insert(ordered.end(), waiting.begin(), waiting.end());
        return ordered;
    }
    // Returns the outcome of the nodes between two positions. Nodes before and after are unaffected by their
    // order.
    Outcome look(size_t first, size_t last) {
        Outcome found;
        size_t alive = entering_[first];
        for (size_t at = first; at <= last; ++at) {
            entering_[at] = alive;
            auto& use = uses_[size_t(nodes_[at])];
            for (size_t made : use.makes) alive += bytes(made);
            auto [count, taken] = taken_over(use, at);
            if (use.may_wait) found.in_place += count;
            found.peak = std::max(found.peak, alive - taken);
            for (auto* owners : {&use.reads, &use.makes})
                for (size_t id : *owners)
                    if (last_[id] == at) alive -= bytes(id);
        }
        return found;
    }
    // Reorders nodes at these positions; `nodes` is a permutation of them.
    void arrange(size_t first, const std::vector<NodeId>& nodes) {
        size_t end = first + nodes.size();
        for (size_t i = 0; i < nodes.size(); ++i) {
            nodes_[first + i] = nodes[i];
            positions_[size_t(nodes[i])] = first + i;
            auto& use = uses_[size_t(nodes[i])];
            for (auto* owners : {&use.makes, &use.reads})
                for (size_t id : *owners)
                    if (last_[id] < end) last_[id] = first + i;
        }
    }

private:
    // The owners that a step uses.
    struct Use {
        std::vector<size_t> reads, makes;              // each once
        std::vector<std::pair<size_t, size_t>> pairs;  // operand, and the result that may overwrite it
        bool may_wait = false;
    };

    size_t owner(ValueId id) const { return size_t(owner_of(id, schedule_.view_of)); }
    size_t bytes(size_t owner) const { return graph_.values()[owner].spec.bytes(); }
    bool is_placed(size_t owner) const {
        return schedule_.buffer_of[owner] >= 0 && graph_.values()[owner].producer >= 0;
    }
    void note_uses(NodeId id) {
        auto& node = graph_.node(id);
        auto& use = uses_[size_t(id)];
        use.may_wait = may_wait(node);
        for (ValueId input : node.inputs)
            if (input != no_value && is_placed(owner(input))) use.reads.push_back(owner(input));
        std::ranges::sort(use.reads);
        use.reads.erase(std::unique(use.reads.begin(), use.reads.end()), use.reads.end());
        for (ValueId output : node.outputs)
            if (is_placed(size_t(output))) use.makes.push_back(size_t(output));
        for (auto [output, input] : in_place_pairs(graph_, node, schedule_.view_of)) {
            size_t from = owner(node.inputs[size_t(input)]), to = size_t(node.outputs[size_t(output)]);
            if (is_placed(from) && is_placed(to) && last_[from] < uses_.size())
                use.pairs.emplace_back(from, to);
        }
    }
    // Returns the number of results in the memory of operands, and their bytes.
    std::pair<size_t, size_t> taken_over(const Use& use, size_t at) const {
        std::vector<size_t> taken;
        size_t total = 0;
        for (auto [from, to] : use.pairs) {
            if (last_[from] != at || std::ranges::count(taken, from) || std::ranges::count(taken, to))
                continue;
            taken.insert(taken.end(), {from, to});
            total += bytes(to);
        }
        return {taken.size() / 2, total};
    }
    bool needs_waiting(NodeId node) const {
        return std::ranges::any_of(graph_.node(node).inputs, [&](ValueId id) {
            return id != no_value && graph_.value(id).producer >= 0 &&
                   waits_[size_t(graph_.value(id).producer)];
        });
    }
    bool reads_overwritten(NodeId node, NodeId writer) const {
        return std::ranges::any_of(uses_[size_t(writer)].pairs, [&](auto pair) {
            return std::ranges::binary_search(uses_[size_t(node)].reads, pair.first);
        });
    }

    const Graph& graph_;
    Schedule schedule_;
    std::vector<Use> uses_;          // by node; empty for views
    std::vector<size_t> last_;       // by owner: position of the last reader; after all for outputs
    std::vector<NodeId> nodes_;      // by position
    std::vector<size_t> positions_;  // by node
    std::vector<size_t> entering_;   // by position: bytes alive that were made before
    std::vector<bool> waits_;        // by node, during with_last()
};

}  // namespace

size_t write_last(Graph& graph, const CompileOptions& options) {
    auto shared = shared_memory(options);
    std::vector<NodeId> writers;
    for (size_t i = 0; i < graph.nodes().size(); ++i)
        if (may_wait(graph.node(NodeId(i)))) writers.push_back(NodeId(i));
    if (!shared.overwrites || writers.empty()) return 0;
    Order order(graph, shared.views);
    size_t end = graph.nodes().size() - 1, before = order.look(0, end).peak, moved = 0, looks = 0;
    for (NodeId writer : writers) {
        size_t first = order.position(writer), last = order.last_reader(writer);
        if (first == last) continue;
        looks += last - first;
        if (looks > most_node_looks) break;
        auto nodes = order.with_last(writer, last);
        if (!nodes) continue;
        std::vector<NodeId> old(order.nodes().begin() + long(first), order.nodes().begin() + long(last) + 1);
        auto now = order.look(first, last);
        order.arrange(first, *nodes);
        if (auto then = order.look(first, last); then.in_place > now.in_place && then.peak <= before) {
            ++moved;
        } else {
            order.arrange(first, old);
            order.look(first, last);
        }
    }
    if (moved && options.log_level > 0 && log_enabled(LogChannel::memory))
        log_line(LogChannel::memory,
                 text(counted(moved, "operator"), " behind the other readers of what ",
                      "they overwrite: ", before, " -> ", order.look(0, end).peak, " bytes alive at once"));
    if (moved) graph.reorder(order.nodes());
    return moved;
}

}  // namespace mge
