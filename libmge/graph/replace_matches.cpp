// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

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

New New::later(std::function<Tensor()> constant) {
    New made(no_value);
    made.later_ = std::move(constant);
    return made;
}

// Adds the replacement of a match to the target of a rewrite.
class Placer {
public:
    Placer(Rewrite& rewrite, const Node& root, Against against)
        : rewrite_(rewrite), place_(rewrite.source().place(root)), against_(against) {}

    ValueId operator()(const New& made) {
        Graph& target = rewrite_.target();
        if (made.constant_) return target.add_constant(made.constant_, {}, place_);
        if (made.later_) return target.add_constant(made.later_(), {}, place_);
        if (!made.application_) return against_ == Against::source ? rewrite_(made.value_) : made.value_;
        auto& [op, params, operands, name] = *made.application_;
        std::vector<ValueId> inputs;
        inputs.reserve(operands.size());
        for (auto& operand : operands) inputs.push_back((*this)(operand));
        NodeId id = target.add_node(*op, params, std::move(inputs), name, nullptr, &place_);
        return target.node(id).outputs[0];
    }

private:
    Rewrite& rewrite_;
    DeviceId place_;
    Against against_;
};

namespace {

struct Replaced {
    size_t rule;
    New made;
};

class Driver {
public:
    explicit Driver(const Rules& rules) : rules_(rules) {}

    bool may_be_root(const Node& node) const {
        return !node.outputs.empty() &&
               std::ranges::any_of(rules_.patterns, [&](auto* p) { return p->part().may_start_at(node); });
    }
    // Returns the replacement by the first rule, from `first` on, that matches and accepts. The walk then has
    // the nodes that the match takes over.
    std::optional<Replaced> find(Walk& walk, size_t first = 0) const {
        std::optional<Replaced> found;
        if (rules_.may_match && !rules_.may_match(walk)) return found;
        for (size_t i = first; i < rules_.patterns.size() && !found; ++i) {
            auto& part = rules_.patterns[i]->part();
            if (!part.may_start_at(walk.root())) continue;
            auto accept = [&] {
                if (!walk.is_closed()) return false;
                auto made = rules_.replace(i, walk);
                if (made) found = {i, std::move(*made)};
                return made.has_value();
            };
            part.match(walk, walk.root_value(), Next(accept));
        }
        return found;
    }
    // Returns the value that replaces the root's.
    ValueId place(Rewrite& rewrite, NodeId id, const New& made) const {
        auto& root = rewrite.source().node(id);
        ValueId value = Placer(rewrite, root, rules_.against)(made);
        const TensorSpec &is = rewrite.target().value(value).spec,
                         &was = rewrite.source().value(root.outputs[0]).spec;
        MGE_CHECK(is == was, "a rule replaces ", was, " by ", is, " for ", root.op->name);
        rewrite.replace(root.outputs[0], value);
        return value;
    }

private:
    const Rules& rules_;
};

// Decides on all matches, then rewrites. Replacements are built twice instead of stored, because there may be
// as many as nodes, scattered over memory.
class SourceRewriting {
public:
    SourceRewriting(const Graph& graph, const Rules& rules) : graph_(graph), driver_(rules) {}

    bool find() {
        for (size_t i = graph_.nodes().size(); i-- > 0;) {
            if (!driver_.may_be_root(graph_.node(NodeId(i)))) continue;
            if (rules_of_.empty()) {
                uses_ = graph_.use_counts();
                rules_of_.assign(graph_.nodes().size(), copied);
            }
            if (rules_of_[i] == copied && start(NodeId(i)))
                if (auto found = driver_.find(walk_)) {
                    rules_of_[i] = int(found->rule);
                    for (NodeId id : walk_.nodes()) rules_of_[size_t(id)] = taken_over;
                    is_any_ = true;
                }
        }
        return is_any_;
    }
    Graph run() {
        Rewrite rewrite(graph_);
        for (size_t i = 0; i < graph_.nodes().size(); ++i) {
            if (rules_of_[i] == copied) rewrite.copy(NodeId(i));
            if (rules_of_[i] < 0) continue;
            start(NodeId(i));
            auto found = driver_.find(walk_, size_t(rules_of_[i]));
            MGE_CHECK(found, "a rule declined a replacement that it had accepted");
            ValueId value = driver_.place(rewrite, NodeId(i), found->made);
            for (NodeId id : walk_.nodes()) rewrite.absorb(id, value);
        }
        return rewrite.finish();
    }

private:
    static constexpr int copied = -1, taken_over = -2;

    // Returns false if results other than the first, which a rule replaces, are used.
    bool start(NodeId id) {
        auto& root = graph_.node(id);
        walk_.start(root, root.outputs[0], graph_.value(root.outputs[0]).spec);
        return std::all_of(root.outputs.begin() + 1, root.outputs.end(),
                           [&](ValueId output) { return uses_[size_t(output)] == 0; });
    }

    const Graph& graph_;
    Driver driver_;
    std::vector<int> uses_, rules_of_;  // by value; by node
    Walk walk_{graph_, uses_};
    bool is_any_ = false;
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
        ValueId value = driver_.place(rewrite_, id, found->made);
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
