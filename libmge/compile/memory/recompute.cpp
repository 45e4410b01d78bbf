// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/memory/recompute.h"

#include <algorithm>
#include <optional>
#include <set>

#include "libmge/base/log.h"
#include "libmge/base/number_text.h"
#include "libmge/compile/memory/cut_search.h"
#include "libmge/compile/memory/plan_memory.h"
#include "libmge/compile/schedule.h"
#include "libmge/graph/copy_node.h"
#include "libmge/graph/rewrite.h"

namespace mge {
namespace {

constexpr NodeId no_turn = -1;

std::vector<MemoryBlock> blocks_of(const Schedule& schedule) {
    std::vector<MemoryBlock> blocks;
    for (auto& buffer : schedule.buffers)
        if (buffer.kind == Buffer::Kind::arena) blocks.push_back({buffer.bytes, buffer.first, buffer.last});
    return blocks;
}

// The graph, its turn, and the values that may be freed there.
class Turned {
public:
    // Values smaller than `smallest` bytes are kept.
    Turned(const Graph& graph, SharedMemory shared, size_t smallest)
        : graph_(graph), shared_(shared), smallest_(smallest) {
        Schedule plain = schedule(graph, shared);
        auto live = live_bytes(blocks_of(plain));
        if (live.empty()) return;
        auto top = std::max_element(live.begin(), live.end());
        peak = *top;
        turn_ = plain.steps[size_t(top - live.begin())].node;
        note_readers(plain);
    }

    // Returns the bytes that a segment up to each node would keep: values with readers after the turn.
    std::vector<size_t> kept_bytes() const {
        std::vector<size_t> bytes(size_t(turn_ + 1));
        for (size_t i = 0; i < bytes.size(); ++i)
            for (ValueId id : graph_.node(NodeId(i)).outputs)
                if (is_wanted_late_[size_t(id)] && may_repeat_[i]) bytes[i] += graph_.value(id).spec.bytes();
        return bytes;
    }

    struct Result {
        Graph graph;
        std::vector<NodeId> repeated;
    };
    Result apply(const Cuts& cuts) const;
    size_t peak_of(const Cuts& cuts) const {
        auto live = live_bytes(blocks_of(schedule(apply(cuts).graph, shared_)));
        return live.empty() ? 0 : *std::max_element(live.begin(), live.end());
    }

    size_t peak = 0;

private:
    class Repeats;
    void note_readers(const Schedule& plain);
    bool is_kept(ValueId id, const Cuts& cuts) const;

    const Graph& graph_;
    SharedMemory shared_;
    size_t smallest_;
    NodeId turn_ = no_turn;
    std::vector<bool> may_repeat_;           // by node
    std::vector<bool> is_wanted_late_;       // by value: a node after the turn reads it
    std::vector<bool> is_output_;            // by value: it is an output or shares memory with one
    std::vector<NodeId> last_early_reader_;  // by value, up to the turn
};

void Turned::note_readers(const Schedule& plain) {
    is_wanted_late_.resize(graph_.values().size());
    is_output_.resize(graph_.values().size());
    last_early_reader_.assign(graph_.values().size(), no_turn);
    for (ValueId id : graph_.outputs()) is_output_[size_t(id)] = true;
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
        auto& node = graph_.node(NodeId(i));
        bool is_dynamic =
            std::ranges::any_of(node.outputs, [&](ValueId id) { return plain.is_dynamic[size_t(id)]; });
        may_repeat_.push_back(!node.op->traits.once && !node.op->traits.runtime_shape &&
                              !node.op->traits.control && !node.op->traits.effect && !is_dynamic);
        for (ValueId id : node.inputs) {
            if (id == no_value) continue;
            if (NodeId(i) <= turn_)
                last_early_reader_[size_t(id)] = NodeId(i);
            else
                is_wanted_late_[size_t(id)] = true;
        }
    }
    // A view keeps the memory of its source alive.
    for (size_t i = graph_.nodes().size(); i-- > 0;) {
        auto& node = graph_.node(NodeId(i));
        for (ValueId id : node.outputs) {
            if (plain.view_of[size_t(id)] == no_value) continue;
            auto from = size_t(node.inputs[0]), to = size_t(id);
            if (is_output_[to]) is_output_[from] = true;
            last_early_reader_[from] = std::max(last_early_reader_[from], last_early_reader_[to]);
            if (NodeId(i) <= turn_ && is_wanted_late_[to]) is_wanted_late_[from] = true;
        }
    }
}

// True if nodes after the turn read the value itself instead of a repeated one.
bool Turned::is_kept(ValueId id, const Cuts& cuts) const {
    NodeId producer = graph_.value(id).producer;
    if (graph_.value(id).spec.bytes() < smallest_) return true;
    if (producer < 0 || producer > turn_ || !may_repeat_[size_t(producer)] || is_output_[size_t(id)])
        return true;
    return !cuts.repeats(producer) || cuts.is_crossed(producer, last_early_reader_[size_t(id)]);
}

// Rewrites the nodes after the turn.
class Turned::Repeats {
public:
    Repeats(const Turned& turned, const Cuts& cuts)
        : turned_(turned),
          cuts_(cuts),
          rewrite_(turned.graph_),
          again_(turned.graph_.values().size(), no_value) {}

    Result run() {
        auto& graph = turned_.graph_;
        for (size_t i = 0; i < graph.nodes().size(); ++i) {
            auto& node = graph.node(NodeId(i));
            bool is_late = NodeId(i) > turned_.turn_;
            if (is_late) repeat_for(node);
            auto inputs = is_late ? late(node.inputs) : rewrite_(node.inputs);
            rewrite_.copy_with(NodeId(i), node.params, std::move(inputs));
        }
        return {rewrite_.finish(), std::move(repeated_)};
    }

private:
    bool is_there(ValueId id) const {
        return id == no_value || again_[size_t(id)] != no_value || turned_.is_kept(id, cuts_);
    }
    std::vector<ValueId> late(const std::vector<ValueId>& values) {
        std::vector<ValueId> result;
        for (ValueId id : values) {
            bool is_repeated = id != no_value && again_[size_t(id)] != no_value;
            result.push_back(is_repeated ? again_[size_t(id)] : rewrite_(id));
        }
        return result;
    }
    // Repeats all nodes that must run again before this one.
    void repeat_for(const Node& reader) {
        auto& graph = turned_.graph_;
        std::vector<ValueId> open(reader.inputs);
        std::set<NodeId> missing;  // in original order
        while (!open.empty()) {
            ValueId id = open.back();
            open.pop_back();
            if (is_there(id)) continue;
            NodeId producer = graph.value(id).producer;
            if (!missing.insert(producer).second) continue;
            auto& inputs = graph.node(producer).inputs;
            open.insert(open.end(), inputs.begin(), inputs.end());
        }
        for (NodeId id : missing) repeat(graph.node(id));
    }
    void repeat(const Node& node) {
        Graph& target = rewrite_.target();
        NodeId made = copy_node(turned_.graph_, node, target, node.params, late(node.inputs));
        for (size_t k = 0; k < node.outputs.size(); ++k)
            again_[size_t(node.outputs[k])] = target.node(made).outputs[k];
        repeated_.push_back(made);
    }

    const Turned& turned_;
    const Cuts& cuts_;
    Rewrite rewrite_;
    std::vector<ValueId> again_;  // by value: the repeated value in the target
    std::vector<NodeId> repeated_;
};

Turned::Result Turned::apply(const Cuts& cuts) const { return Repeats(*this, cuts).run(); }

// Marks nodes after which a segment may end.
std::vector<bool> legal_ends(const Graph& graph, size_t count, const std::vector<NodeId>& endpoints) {
    std::vector<bool> legal(count, endpoints.empty());
    for (size_t i = 0; i < count && !endpoints.empty(); ++i)
        legal[i] = std::ranges::any_of(graph.node(NodeId(i)).sources,
                                       [&](NodeId id) { return std::ranges::count(endpoints, id) > 0; });
    return legal;
}

}  // namespace

std::vector<NodeId> find_endpoints(const Graph& graph, const CompileOptions& options) {
    std::vector<NodeId> found;
    for (auto& name : options.recompute.endpoints) {
        auto it = std::ranges::find_if(graph.nodes(), [&](const Node& node) {
            return node.name == name || std::ranges::any_of(node.outputs, [&](ValueId id) {
                       return graph.value(id).name == name;
                   });
        });
        if (name.empty() || it == graph.nodes().end())
            throw_value_error(named(options, "recompute.endpoints"), "there is no operator '", name,
                              "' in the graph");
        found.push_back(NodeId(it - graph.nodes().begin()));
    }
    return found;
}

Recomputation recompute(Graph graph, const CompileOptions& options, const std::vector<NodeId>& endpoints) {
    auto& config = options.recompute;
    Recomputation result;
    bool has_budget = config.keeps_budget;
    Turned turned(graph, shared_memory(options), has_budget ? config.smallest : 0);
    result.plain_peak = result.peak = turned.peak;
    size_t bound = has_budget ? config.budget : config.least_peak << 20;
    std::optional<Turned::Result> changed;
    if (turned.peak > bound) {
        auto kept = turned.kept_bytes();
        CutSearch search{config, options.log_level, kept, legal_ends(graph, kept.size(), endpoints),
                         [&](const Cuts& cuts) { return turned.peak_of(cuts); }};
        auto found = search.run(turned.peak, bound);
        if (found) {
            changed = turned.apply(found->cuts);
            result.peak = found->peak;
            result.segments = found->cuts.count_repeated();
        }
    }
    if (changed) {
        result.repeated = std::move(changed->repeated);
        result.graph = std::move(changed->graph);
    } else {
        result.graph = std::move(graph);
    }
    if (options.log_level > 0 && log_enabled(LogChannel::memory))
        log_line(LogChannel::memory,
                 text("recomputation: ", result.plain_peak, " -> ", result.peak, " bytes alive at once, ",
                      counted(result.repeated.size(), "operator"), " of ",
                      counted(result.segments, "segment"), " run again"));
    return result;
}

}  // namespace mge
