// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/match.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "libmge/graph/rewrite.h"
#include "libmge/ops/elementwise/arithmetic.h"

namespace mge::match {
namespace {

// More operators than people write a formula's product with. From there on the rest is a value, so that no
// node of a long chain walks all of it.
constexpr int most_multiplications = 8;

// The rest of the pattern, behind a part of it. False sends the part to its next alternative.
class Next {
public:
    template <class F>
    explicit Next(const F& f)
        : object_(&f), call_([](const void* o) { return (*static_cast<const F*>(o))(); }) {}
    bool operator()() const { return call_(object_); }

private:
    const void* object_;
    bool (*call_)(const void*);
};

}  // namespace

// A match as it grows. A part that fails leaves it as it was.
class Walk : public Match {
public:
    Walk(const Graph& graph, const std::vector<int>& uses) : Match(graph, uses) {}

    // The graph may have grown since the last root.
    void start(const Node& root, ValueId root_value, const TensorSpec& result) {
        root_ = &root;
        root_value_ = root_value;
        result_ = &result;
        undo({});
    }

    struct Mark {
        size_t values, numbers, reads, nodes;
    };
    Mark mark() const { return {values_.size(), numbers_.size(), reads_.size(), nodes_.size()}; }
    bool undo(const Mark& mark) {
        values_.resize(mark.values);
        numbers_.resize(mark.numbers);
        reads_.resize(mark.reads);
        nodes_.resize(mark.nodes);
        return false;
    }

    bool bind(std::string_view name, ValueId value) {
        if (ValueId bound = name.empty() ? no_value : (*this)[name]; bound != no_value) return bound == value;
        if (!name.empty()) values_.emplace_back(name, value);
        return true;
    }
    void bind_number(std::string_view name, double value) { numbers_.emplace_back(name, value); }

    // The node whose first output the value is.
    const Node* maker(ValueId value) const {
        if (is_root(value)) return root_;
        auto& v = graph_.value(value);
        return v.producer >= 0 && v.output_index == 0 ? &graph_.node(v.producer) : nullptr;
    }
    void read(ValueId value) { reads_.push_back(value); }
    void enter(ValueId value) {
        if (is_root(value)) return;
        read(value);
        if (shared_depth_ == 0) nodes_.push_back(graph_.value(value).producer);
    }
    bool is_used_once(ValueId value) const { return !is_root(value) && uses(value) == 1; }

    // Nobody outside reads what the nodes compute.
    bool is_closed() const {
        return std::ranges::all_of(nodes_, [&](NodeId id) {
            return std::ranges::all_of(graph_.node(id).outputs, [&](ValueId output) {
                return uses(output) == std::ranges::count(reads_, output);
            });
        });
    }
    ValueId root_value() const { return root_value_; }
    // The nodes that the match takes over, the root excepted.
    const std::vector<NodeId>& nodes() const { return nodes_; }

    template <class F>
    bool in_shared(int depth, const F& f) {
        shared_depth_ += depth;
        bool result = f();
        shared_depth_ -= depth;
        return result;
    }

private:
    std::vector<ValueId> reads_;
    std::vector<NodeId> nodes_;
    int shared_depth_ = 0;
};

class Part {
public:
    virtual ~Part() = default;
    // Whether the pattern may have this root; looks at the operator alone.
    virtual bool may_start_at(const Node&) const { return false; }
    virtual bool match(Walk& walk, ValueId value, Next next) const = 0;
};

namespace {

std::optional<double> number_in(const Walk& walk, ValueId value) {
    if (walk.maker(value)) return std::nullopt;
    auto& constant = walk.graph().value(value).constant;
    bool is_one = constant && constant.spec().numel() == 1 && constant.dtype() == DType::f32;
    return is_one ? std::optional(double(*constant.data<float>())) : std::nullopt;
}

class Any final : public Part {
public:
    Any(std::string name, bool is_constant) : name_(std::move(name)), is_constant_(is_constant) {}
    bool match(Walk& walk, ValueId value, Next next) const override {
        if (is_constant_ && !walk.graph().value(value).is_constant()) return false;
        auto mark = walk.mark();
        walk.read(value);
        return (walk.bind(name_, value) && next()) || walk.undo(mark);
    }

private:
    std::string name_;
    bool is_constant_;
};

class Number final : public Part {
public:
    Number(std::string name, std::optional<double> wanted) : name_(std::move(name)), wanted_(wanted) {}
    bool match(Walk& walk, ValueId value, Next next) const override {
        auto found = number_in(walk, value);
        if (!found || (wanted_ && !is_near(*found, *wanted_))) return false;
        auto mark = walk.mark();
        if (!wanted_) walk.bind_number(name_, *found);
        return next() || walk.undo(mark);
    }

private:
    std::string name_;
    std::optional<double> wanted_;
};

class Applied final : public Part {
public:
    Applied(NodeTest test, std::vector<Pattern> operands, const OpInfo* op, bool may_swap)
        : test_(std::move(test)), operands_(std::move(operands)), op_(op), may_swap_(may_swap) {}
    bool may_start_at(const Node& root) const override { return !op_ || root.op == op_; }
    bool match(Walk& walk, ValueId value, Next next) const override {
        const Node* node = walk.maker(value);
        if (!node || (op_ && node->op != op_) || node->inputs.size() < operands_.size()) return false;
        if (test_ && !test_(walk, *node)) return false;
        auto mark = walk.mark();
        walk.enter(value);
        return match_operands(walk, *node, 0, false, next) ||
               (may_swap_ && match_operands(walk, *node, 0, true, next)) || walk.undo(mark);
    }

private:
    bool match_operands(Walk& walk, const Node& node, size_t i, bool is_swapped, Next next) const {
        if (i == operands_.size()) return next();
        ValueId operand = node.inputs[is_swapped ? 1 - i : i];
        auto rest = [&] { return match_operands(walk, node, i + 1, is_swapped, next); };
        return operand != no_value && operands_[i].part().match(walk, operand, Next(rest));
    }

    NodeTest test_;
    std::vector<Pattern> operands_;
    const OpInfo* op_;
    bool may_swap_;
};

class OneOf final : public Part {
public:
    explicit OneOf(std::vector<Pattern> patterns) : patterns_(std::move(patterns)) {}
    bool may_start_at(const Node& root) const override {
        return std::ranges::any_of(patterns_, [&](auto& p) { return p.part().may_start_at(root); });
    }
    bool match(Walk& walk, ValueId value, Next next) const override {
        return std::ranges::any_of(patterns_, [&](auto& p) { return p.part().match(walk, value, next); });
    }

private:
    std::vector<Pattern> patterns_;
};

// A part around another one.
class Around : public Part {
public:
    explicit Around(Pattern inside) : inside_(std::move(inside)) {}
    bool may_start_at(const Node& root) const override { return inside().may_start_at(root); }

protected:
    const Part& inside() const { return inside_.part(); }

private:
    Pattern inside_;
};

class Capture final : public Around {
public:
    Capture(std::string name, Pattern inside) : Around(std::move(inside)), name_(std::move(name)) {}
    bool match(Walk& walk, ValueId value, Next next) const override {
        auto rest = [&] {
            auto mark = walk.mark();
            return (walk.bind(name_, value) && next()) || walk.undo(mark);
        };
        return inside().match(walk, value, Next(rest));
    }

private:
    std::string name_;
};

class UsedOnce final : public Around {
public:
    using Around::Around;
    bool match(Walk& walk, ValueId value, Next next) const override {
        return walk.is_used_once(value) && inside().match(walk, value, next);
    }
};

class Shared final : public Around {
public:
    using Around::Around;
    bool match(Walk& walk, ValueId value, Next next) const override {
        auto rest = [&] { return walk.in_shared(-1, next); };
        return walk.in_shared(1, [&] { return inside().match(walk, value, Next(rest)); });
    }
};

class Product final : public Part {
public:
    Product(double factor, std::vector<Pattern> factors) : wanted_(factor), factors_(std::move(factors)) {
        MGE_CHECK(factors_.size() <= most_factors, "a product of ", factors_.size(), " patterns");
    }
    bool may_start_at(const Node& root) const override {
        return root.op == &ops::Mul::info || root.op == &ops::Div::info;
    }
    bool match(Walk& walk, ValueId value, Next next) const override {
        auto mark = walk.mark();
        Flat flat;
        const Node* root = walk.maker(value) == &walk.root() ? &walk.root() : nullptr;
        bool is_flat =
            root && may_start_at(*root) ? multiply(walk, flat, value, *root) : multiply(walk, flat, value);
        bool fits = is_flat && flat.count == factors_.size() &&
                    (wanted_ == 1 ? flat.factor == 1 : is_near(flat.factor, wanted_));
        return (fits && assign(walk, flat, 0, next)) || walk.undo(mark);
    }

private:
    static constexpr size_t most_factors = 4;
    struct Flat {
        double factor = 1;
        std::array<ValueId, most_factors> values{};
        size_t count = 0;
        int multiplications = 0;
    };
    // A product that the match may take over.
    const Node* inner_product(const Walk& walk, ValueId value) const {
        const Node* node = walk.is_used_once(value) ? walk.maker(value) : nullptr;
        return node && may_start_at(*node) ? node : nullptr;
    }
    // False: it is no product of numbers and as many values as there are factors.
    bool multiply(Walk& walk, Flat& flat, ValueId value) const {
        const Node* inner =
            flat.multiplications < most_multiplications ? inner_product(walk, value) : nullptr;
        if (inner) return multiply(walk, flat, value, *inner);
        if (auto number = number_in(walk, value)) {
            flat.factor *= *number;
            return true;
        }
        if (flat.count == factors_.size()) return false;
        flat.values[flat.count++] = value;
        return true;
    }
    bool multiply(Walk& walk, Flat& flat, ValueId value, const Node& node) const {
        walk.enter(value);
        ++flat.multiplications;
        if (node.op == &ops::Div::info) {
            auto divisor = number_in(walk, node.inputs[1]);
            if (!divisor) return false;
            if (!multiply(walk, flat, node.inputs[0])) return false;
            flat.factor /= *divisor;
            return true;
        }
        // The other operand first: of long chains few links are walked.
        size_t chain = inner_product(walk, node.inputs[0]) ? 0 : 1;
        return multiply(walk, flat, node.inputs[1 - chain]) && multiply(walk, flat, node.inputs[chain]);
    }
    bool assign(Walk& walk, Flat& flat, size_t i, Next next) const {
        if (i == factors_.size()) return next();
        for (ValueId& value : std::span(flat.values).first(flat.count)) {
            if (value == no_value) continue;
            ValueId taken = std::exchange(value, no_value);
            auto rest = [&] { return assign(walk, flat, i + 1, next); };
            if (factors_[i].part().match(walk, taken, Next(rest))) return true;
            value = taken;
        }
        return false;
    }

    double wanted_;
    std::vector<Pattern> factors_;
};

class Scaled final : public Around {
public:
    Scaled(std::string name, Pattern inside) : Around(std::move(inside)), name_(std::move(name)) {}
    bool match(Walk& walk, ValueId value, Next next) const override {
        auto mark = walk.mark();
        while (auto operand = behind_number(walk, value)) value = *operand;
        return inside().match(walk, value, next) || walk.undo(mark);
    }

private:
    std::optional<ValueId> behind_number(Walk& walk, ValueId value) const {
        const Node* node = walk.is_used_once(value) ? walk.maker(value) : nullptr;
        bool is_quotient = node && node->op == &ops::Div::info;
        if (!node || (node->op != &ops::Mul::info && !is_quotient)) return std::nullopt;
        size_t side = is_quotient || number_in(walk, node->inputs[1]) ? 1 : 0;
        auto number = number_in(walk, node->inputs[side]);
        ValueId operand = node->inputs[1 - side];
        if (!number || !(walk.spec(operand) == walk.spec(value))) return std::nullopt;
        walk.bind_number(name_, is_quotient ? 1 / *number : *number);
        walk.enter(value);
        return operand;
    }

    std::string name_;
};

template <class P, class... A>
Pattern pattern_of(A&&... arguments) {
    return Pattern(std::make_shared<const P>(std::forward<A>(arguments)...));
}

}  // namespace

bool is_near(double found, double wanted) { return std::abs(found - wanted) <= 1e-5 * std::abs(wanted); }

ValueId Match::operator[](std::string_view name) const {
    auto it = std::ranges::find(values_, name, &std::pair<std::string_view, ValueId>::first);
    return it == values_.end() ? no_value : it->second;
}

const Node& Match::node(std::string_view name) const {
    ValueId value = (*this)[name];
    if (is_root(value)) return *root_;
    MGE_CHECK(value != no_value && graph_.value(value).producer >= 0, "no node computes '", name, "'");
    return graph_.node(graph_.value(value).producer);
}

double Match::number(std::string_view name) const {
    double product = 1;
    for (auto& [of, number] : numbers_)
        if (of == name) product *= number;
    return product;
}

Pattern any(std::string name) { return pattern_of<Any>(std::move(name), false); }
Pattern constant(std::string name) { return pattern_of<Any>(std::move(name), true); }
Pattern number(std::string name) { return pattern_of<Number>(std::move(name), std::nullopt); }
Pattern number(double wanted) { return pattern_of<Number>("", wanted); }
Pattern node(NodeTest test, std::vector<Pattern> operands, const OpInfo* op, bool either_order) {
    return pattern_of<Applied>(std::move(test), std::move(operands), op, either_order);
}
Pattern capture(std::string name, Pattern p) { return pattern_of<Capture>(std::move(name), std::move(p)); }
Pattern one_of(std::vector<Pattern> patterns) { return pattern_of<OneOf>(std::move(patterns)); }
Pattern used_once(Pattern p) { return pattern_of<UsedOnce>(std::move(p)); }
Pattern shared(Pattern p) { return pattern_of<Shared>(std::move(p)); }
Pattern product(double factor, std::vector<Pattern> factors) {
    return pattern_of<Product>(factor, std::move(factors));
}
Pattern scaled(std::string number, Pattern p) { return pattern_of<Scaled>(std::move(number), std::move(p)); }

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
    // By the first rule, from `first` on, that matches and accepts. The walk then has the nodes that the
    // match takes over.
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
    // Returns the value that stands for the root's.
    ValueId place(Rewrite& rewrite, NodeId id, const New& made) const {
        auto& root = rewrite.source().node(id);
        ValueId value = Placer(rewrite, root, rules_.against)(made);
        const TensorSpec &is = rewrite.target().value(value).spec,
                         &was = rewrite.source().value(root.outputs[0]).spec;
        MGE_CHECK(is == was, "a rule makes ", is, " of the ", was, " of ", root.op->name);
        rewrite.replace(root.outputs[0], value);
        return value;
    }

private:
    const Rules& rules_;
};

// Decides on all matches, then rewrites. Their replacements are not kept in between: they are as many as the
// nodes, and would lie all over the memory.
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
            MGE_CHECK(found, "a rule takes its replacement back");
            ValueId value = driver_.place(rewrite, NodeId(i), found->made);
            for (NodeId id : walk_.nodes()) rewrite.absorb(id, value);
        }
        return rewrite.finish();
    }

private:
    static constexpr int copied = -1, taken_over = -2;

    // False: the node has more results than the one that a rule replaces.
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

// Keeps the readers of the target's values counted: those that are there and those that the rest of the
// source will copy.
class TargetRewriting {
public:
    TargetRewriting(const Graph& graph, const Rules& rules)
        : graph_(graph), driver_(rules), rewrite_(graph), uses_of_source_(graph.use_counts()) {}

    Graph run() && {
        for (size_t i = 0; i < graph_.nodes().size(); ++i)
            if (!driver_.may_be_root(graph_.node(NodeId(i))) || !replace(NodeId(i))) copy(NodeId(i));
        return rewrite_.finish();
    }

private:
    void copy(NodeId id) {
        rewrite_.copy(id);
        uses_.resize(rewrite_.target().values().size());
        for (ValueId output : graph_.node(id).outputs) count_readers(output);
    }
    void count_readers(ValueId source) { uses_[size_t(rewrite_(source))] += uses_of_source_[size_t(source)]; }

    bool replace(NodeId id) {
        auto& node = graph_.node(id);
        Graph& target = rewrite_.target();
        Node root{node.op, node.params, rewrite_(node.inputs), node.outputs, node.name, {}, {}};
        uses_.resize(target.values().size());
        walk_.start(root, no_value - 1, graph_.value(node.outputs[0]).spec);
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
        forget_readings(root.inputs);
        return true;
    }
    // A node that nobody reads any more does not count as a reader either.
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
    std::vector<int> uses_of_source_, uses_;  // by value of the source, and of the target
    Walk walk_{rewrite_.target(), uses_};
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
