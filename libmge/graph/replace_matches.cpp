// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>

#include "libmge/graph/match_walk.h"
#include "libmge/graph/rewrite.h"

namespace mge::match {

struct New::Application {
    const OpInfo* op;
    std::shared_ptr<const void> params;
    std::vector<New> operands;
    std::string name;
};

New::New(const OpInfo& op, std::shared_ptr<const void> params, std::vector<New> operands, std::string name)
    : application_(std::make_shared<const Application>(
          Application{&op, std::move(params), std::move(operands), std::move(name)})) {}

New New::named(std::string name) const {
    return {*application_->op, application_->params, application_->operands, std::move(name)};
}

// Holds replacements until they are added to the target of a rewrite. They are stored in a few arrays:
// single allocations would separate the nodes of the target in memory, which slows later passes down.
class Replacements {
public:
    // Refers to a value, or to a new constant or node, as an operand or as the replacement of a root.
    using Operand = int;

    Operand add(const New& made) {
        if (!made.constant_ && !made.application_) return made.value_;
        Item item{made.constant_, nullptr, nullptr, {}, 0, 0};
        if (made.application_) {
            auto& [op, params, operands, name] = *made.application_;
            std::vector<Operand> added;
            for (auto& operand : operands) added.push_back(add(operand));
            item = {{}, op, params, name, operands_.size(), added.size()};
            operands_.insert(operands_.end(), added.begin(), added.end());
        }
        items_.push_back(std::move(item));
        return first_item - Operand(items_.size() - 1);
    }
    // Returns the operand's value in the target. `value_of` finds that of a matched graph's value.
    template <class Fn>
    ValueId place(Operand operand, Graph& target, DeviceId place_of_root, const Fn& value_of) {
        if (operand > first_item) return value_of(operand);
        auto& [constant, op, params, name, begin, count] = items_[size_t(first_item - operand)];
        if (constant) return target.add_constant(constant, {}, place_of_root);
        std::vector<ValueId> inputs;
        inputs.reserve(count);
        for (Operand each : std::span(operands_).subspan(begin, count))
            inputs.push_back(place(each, target, place_of_root, value_of));
        NodeId id = target.add_node(*op, std::move(params), std::move(inputs), std::move(name), nullptr,
                                    &place_of_root);
        return target.node(id).outputs[0];
    }

private:
    static constexpr Operand first_item = no_value - 1;
    struct Item {
        Tensor constant;
        const OpInfo* op;
        std::shared_ptr<const void> params;
        std::string name;
        size_t first_operand, operand_count;
    };
    std::vector<Item> items_;
    std::vector<Operand> operands_;
};

namespace {

class Driver {
public:
    explicit Driver(const Rules& rules) : rules_(rules) {}

    bool may_be_root(const Node& node) const {
        return !node.outputs.empty() &&
               std::ranges::any_of(rules_.patterns, [&](auto* p) { return p->part().may_start_at(node); });
    }
    // Returns the replacement by the first rule that matches and accepts. The walk then has the nodes that
    // the match takes over.
    std::optional<New> find(Walk& walk) const {
        std::optional<New> found;
        if (rules_.may_match && !rules_.may_match(walk)) return found;
        for (size_t i = 0; i < rules_.patterns.size() && !found; ++i) {
            auto& part = rules_.patterns[i]->part();
            if (!part.may_start_at(walk.root())) continue;
            auto accept = [&] {
                if (!walk.is_closed()) return false;
                found = rules_.replace(i, walk);
                return found.has_value();
            };
            part.match(walk, walk.root_value(), Next(accept));
        }
        return found;
    }

private:
    const Rules& rules_;
};

// Replaces the root by `value` of the target.
ValueId replaced(Rewrite& rewrite, const Node& root, ValueId value) {
    TensorSpec& is = rewrite.target().value(value).spec;
    const TensorSpec& was = rewrite.source().value(root.outputs[0]).spec;
    // A shape that an operator alone does not know was found by inference over the whole graph.
    if (!is.shape.is_known()) is.shape = was.shape;
    MGE_CHECK(is == was, "a rule replaces ", was, " by ", is, " for ", root.op->name);
    rewrite.replace(root.outputs[0], value);
    return value;
}

// Decides on all matches, then rewrites.
class SourceRewriting {
public:
    SourceRewriting(const Graph& graph, const Rules& rules) : graph_(graph), driver_(rules) {}

    bool find() {
        for (size_t i = graph_.nodes().size(); i-- > 0;) {
            if (!driver_.may_be_root(graph_.node(NodeId(i)))) continue;
            if (is_taken_over_.empty()) {
                uses_ = graph_.use_counts();
                is_taken_over_.resize(graph_.nodes().size());
            }
            if (is_taken_over_[i] || !start(NodeId(i))) continue;
            auto made = driver_.find(walk_);
            if (!made) continue;
            for (NodeId id : walk_.nodes()) {
                is_taken_over_[size_t(id)] = true;
                taken_over_.push_back(id);
            }
            decisions_.push_back({NodeId(i), replacements_.add(*made), taken_over_.size()});
        }
        return !decisions_.empty();
    }
    Graph run() {
        Rewrite rewrite(graph_);
        for (size_t i = 0; i < graph_.nodes().size(); ++i) {
            if (is_taken_over_[i]) continue;
            if (decisions_.empty() || decisions_.back().root != NodeId(i)) {
                rewrite.copy(NodeId(i));
                continue;
            }
            const Replacements::Operand made = decisions_.back().made;
            decisions_.pop_back();
            auto& root = graph_.node(NodeId(i));
            ValueId value = replaced(rewrite, root,
                                     replacements_.place(made, rewrite.target(), graph_.place(root),
                                                         [&](ValueId id) { return rewrite(id); }));
            for (size_t begin = decisions_.empty() ? 0 : decisions_.back().end; taken_over_.size() > begin;) {
                rewrite.absorb(taken_over_.back(), value);
                taken_over_.pop_back();
            }
        }
        return rewrite.finish();
    }

private:
    struct Decision {
        NodeId root;
        Replacements::Operand made;
        size_t end;  // in taken_over_
    };

    // Returns false if results other than the first, which a rule replaces, are used.
    bool start(NodeId id) {
        auto& root = graph_.node(id);
        walk_.start(root, root.outputs[0], graph_.value(root.outputs[0]).spec);
        return std::all_of(root.outputs.begin() + 1, root.outputs.end(),
                           [&](ValueId output) { return uses_[size_t(output)] == 0; });
    }

    const Graph& graph_;
    Driver driver_;
    std::vector<int> uses_;            // by value
    std::vector<bool> is_taken_over_;  // by node
    std::vector<Decision> decisions_;  // the last root first
    std::vector<NodeId> taken_over_;
    Replacements replacements_;
    Walk walk_{graph_, uses_};
};

// Keeps reader counts of the target's values: present readers and those that the rest of the source will add.
class TargetRewriting {
public:
    TargetRewriting(const Graph& graph, const Rules& rules)
        : graph_(graph), driver_(rules), rewrite_(graph), uses_of_source_(graph.use_counts()) {}

    Graph run() && {
        for (size_t i = 0; i < graph_.nodes().size(); ++i) {
            auto& node = graph_.node(NodeId(i));
            root_.inputs = rewrite_(node.inputs);
            bool may_replace = node.outputs.size() == 1 && driver_.may_be_root(node);
            if (may_replace && replace(NodeId(i))) continue;
            rewrite_.copy_with(NodeId(i), node.params, std::move(root_.inputs));
            uses_.resize(rewrite_.target().values().size());
            for (ValueId output : node.outputs) count_readers(output);
        }
        return rewrite_.finish();
    }

private:
    void count_readers(ValueId source) { uses_[size_t(rewrite_(source))] += uses_of_source_[size_t(source)]; }

    bool replace(NodeId id) {
        auto& node = graph_.node(id);
        Graph& target = rewrite_.target();
        root_.op = node.op;
        root_.params = node.params;
        root_.outputs = node.outputs;
        root_.name = node.name;
        uses_.resize(target.values().size());
        walk_.start(root_, no_value - 1, graph_.value(node.outputs[0]).spec);
        auto found = driver_.find(walk_);
        if (!found) return false;
        Node taken{};
        for (NodeId inside : walk_.nodes()) take_work(target.node(inside), taken);
        const size_t old_nodes = target.nodes().size();
        Replacements made;
        auto itself = [](ValueId value) { return value; };
        ValueId value =
            replaced(rewrite_, node, made.place(made.add(*found), target, graph_.place(node), itself));
        if (NodeId producer = target.value(value).producer; producer >= 0)
            take_work(taken, target.node(producer));
        uses_.resize(target.values().size());
        for (size_t i = old_nodes; i < target.nodes().size(); ++i)
            for (ValueId input : target.node(NodeId(i)).inputs)
                if (input != no_value) ++uses_[size_t(input)];
        count_readers(node.outputs[0]);
        forget_readings(root_.inputs);
        return true;
    }
    // A node without readers no longer counts as a reader.
    void forget_readings(std::vector<ValueId> open) {
        while (!open.empty()) {
            ValueId value = open.back();
            open.pop_back();
            if (value == no_value || --uses_[size_t(value)] > 0) continue;
            NodeId producer = rewrite_.target().value(value).producer;
            if (producer < 0) continue;
            auto& node = rewrite_.target().node(producer);
            if (std::ranges::all_of(node.outputs, [&](ValueId output) { return uses_[size_t(output)] <= 0; }))
                open.insert(open.end(), node.inputs.begin(), node.inputs.end());
        }
    }

    const Graph& graph_;
    Driver driver_;
    Rewrite rewrite_;
    std::vector<int> uses_of_source_, uses_;  // by value of the source; by value of the target
    Walk walk_{rewrite_.target(), uses_};
    Node root_;  // with inputs of the target
};

}  // namespace

Graph replace_matches(Graph graph, const Rules& rules) {
    if (rules.against == Against::source) {
        if (SourceRewriting rewriting(graph, rules); rewriting.find()) return rewriting.run();
        return graph;
    }
    auto may_be_root = [driver = Driver(rules)](auto& node) { return driver.may_be_root(node); };
    if (std::ranges::none_of(graph.nodes(), may_be_root)) return graph;
    return TargetRewriting(graph, rules).run();
}

}  // namespace mge::match
