// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/write_last.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "libmge/base/log.h"
#include "libmge/base/number_text.h"
#include "libmge/compile/plan_memory.h"
#include "libmge/compile/schedule.h"
#include "libmge/graph/inner_graph.h"

namespace mge {
namespace {

// Nodes that are looked at in all: some hundreds of milliseconds. One in a schedule counts for several.
constexpr size_t most_looks = 16'000'000, looks_of_schedule = 16;

bool may_wait(const Node& node) {
    return !node.op->in_place.empty() && !node.op->traits.elementwise && !has_effect(node);
}

// What an order of the nodes leads to.
class Order {
public:
    Order(const Graph& graph, const SharedMemory& shared)
        : graph_(graph),
          schedule_(schedule(graph, shared)),
          last_reader_(graph.values().size(), -1),
          is_output_(graph.values().size()) {
        for (size_t i = 0; i < graph.nodes().size(); ++i) {
            auto& node = graph.node(NodeId(i));
            for (ValueId id : node.inputs)
                if (id != no_value) last_reader_[owner(id)] = NodeId(i);
            if (may_wait(node)) in_place += count_in_place(node);
        }
        for (ValueId id : graph.outputs()) is_output_[owner(id)] = true;
        std::vector<MemoryBlock> blocks;
        for (auto& buffer : schedule_.buffers)
            if (buffer.kind == Buffer::Kind::arena || buffer.kind == Buffer::Kind::output)
                blocks.push_back({buffer.bytes, buffer.first, buffer.last});
        auto live = live_bytes(blocks);
        if (!live.empty()) peak = *std::ranges::max_element(live);
    }

    size_t in_place = 0;  // results of operators that may wait which lie in the memory of an operand
    size_t peak = 0;      // bytes alive at once

    // How many nodes stand between this one and the last reader of what it may overwrite; 0: it is that.
    size_t distance_to_last(NodeId writer) const {
        return size_t(std::max(last_reader(overwritten(graph_.node(writer))) - writer, 0));
    }
    // The node order in which it, and what needs its results, comes right behind that reader. None: somebody
    // who reads what it may overwrite needs its results.
    std::optional<std::vector<NodeId>> with_last(NodeId writer) const {
        auto targets = overwritten(graph_.node(writer));
        std::vector<NodeId> first, waiting{writer};
        NodeId last = last_reader(targets);
        for (NodeId i = writer + 1; i <= last; ++i) {
            if (!needs(i, waiting)) {
                first.push_back(i);
                continue;
            }
            if (has_effect(graph_.node(i)) || reads(i, targets)) return std::nullopt;
            waiting.push_back(i);
        }
        std::vector<NodeId> order(graph_.nodes().size());
        std::iota(order.begin(), order.end(), 0);
        std::ranges::copy(waiting, std::ranges::copy(first, order.begin() + writer).out);
        return order;
    }

private:
    // The value whose memory it is.
    size_t owner(ValueId id) const {
        while (schedule_.view_of[size_t(id)] != no_value) id = schedule_.view_of[size_t(id)];
        return size_t(id);
    }
    size_t count_in_place(const Node& node) const {
        return size_t(std::ranges::count_if(node.op->in_place, [&](InPlace pair) {
            ValueId from = operand(node, pair);
            if (from == no_value) return false;
            int buffer = schedule_.buffer_of[size_t(from)];
            return buffer >= 0 && buffer == schedule_.buffer_of[size_t(node.outputs[size_t(pair.output)])];
        }));
    }
    // no_value when the node lacks it, or the result.
    static ValueId operand(const Node& node, InPlace pair) {
        bool is_there = size_t(pair.output) < node.outputs.size() && size_t(pair.input) < node.inputs.size();
        return is_there ? node.inputs[size_t(pair.input)] : no_value;
    }
    // Whose memory it may write over, once nobody else reads it.
    std::vector<size_t> overwritten(const Node& node) const {
        std::vector<size_t> owners;
        for (InPlace pair : node.op->in_place) {
            ValueId from = operand(node, pair);
            if (from == no_value || schedule_.buffer_of[size_t(from)] < 0) continue;
            size_t whose = owner(from);
            if (graph_.value(ValueId(whose)).producer >= 0 && !is_output_[whose]) owners.push_back(whose);
        }
        return owners;
    }
    NodeId last_reader(const std::vector<size_t>& owners) const {
        NodeId last = -1;
        for (size_t owner : owners) last = std::max(last, last_reader_[owner]);
        return last;
    }
    bool needs(NodeId reader, const std::vector<NodeId>& producers) const {
        return std::ranges::any_of(graph_.node(reader).inputs, [&](ValueId id) {
            return id != no_value && std::ranges::binary_search(producers, graph_.value(id).producer);
        });
    }
    bool reads(NodeId reader, const std::vector<size_t>& owners) const {
        return std::ranges::any_of(graph_.node(reader).inputs, [&](ValueId id) {
            return id != no_value && std::ranges::count(owners, owner(id)) > 0;
        });
    }

    const Graph& graph_;
    Schedule schedule_;
    std::vector<NodeId> last_reader_;  // by value, of what lies in its memory
    std::vector<bool> is_output_;      // by value: something in its memory is
};

std::vector<NodeId> reversed(const std::vector<NodeId>& order) {
    std::vector<NodeId> back(order.size());
    for (size_t i = 0; i < order.size(); ++i) back[size_t(order[i])] = NodeId(i);
    return back;
}

}  // namespace

size_t write_last(Graph& graph, const CompileOptions& options) {
    auto shared = shared_memory(options);
    std::vector<ValueId> writers;  // by their first results, which keep their ids
    for (auto& node : graph.nodes())
        if (may_wait(node)) writers.push_back(node.outputs.at(0));
    if (!shared.overwrites || writers.empty()) return 0;
    std::optional<Order> now(std::in_place, graph, shared);
    size_t before = now->peak, moved = 0, looks = 0;
    for (ValueId id : writers) {
        NodeId writer = graph.value(id).producer;
        size_t distance = now->distance_to_last(writer);
        if (distance == 0) continue;
        looks += distance;
        auto nodes = now->with_last(writer);
        if (!nodes) continue;
        looks += looks_of_schedule * nodes->size();
        if (looks > most_looks) break;
        graph.reorder(*nodes);
        Order then(graph, shared);
        if (then.in_place > now->in_place && then.peak <= now->peak) {
            now.emplace(std::move(then));
            ++moved;
        } else {
            graph.reorder(reversed(*nodes));
        }
    }
    if (moved && options.log_level > 0 && log_enabled(LogChannel::memory))
        log_line(LogChannel::memory,
                 text(counted(moved, "operator"), " behind the other readers of what ",
                      "they overwrite: ", before, " -> ", now->peak, " bytes alive at once"));
    return moved;
}

}  // namespace mge
