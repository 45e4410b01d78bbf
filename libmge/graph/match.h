// SPDX-License-Identifier: Apache-2.0
#pragma once
// Patterns of operators, and rules that replace their matches. A pass that searches for a subgraph is a table
// of rules; this driver walks the graph, counts readers and rewrites.
//
//     // x · sigmoid(x) => silu(x)
//     const Pattern x = any("x");
//     static const Table<PassOptions> rules{
//         {product(1, {x, op<ops::Sigmoid>(x)}),
//          [](const Match& m, const PassOptions&) -> std::optional<New> {
//              return made<ops::Silu>({}, {m["x"]});
//          }},
//     };
//     return replace_matches(std::move(graph), rules, options);
//
// A pattern is matched against a value and walks from there towards the inputs of the graph. It never matches
// an absent input. Rules for captures, order and readers:
//
// - A name denotes one value: where it occurs again, only that value matches.
// - Alternatives (`one_of`, `either_order`, `product`) are tried in their order, until the whole pattern
//   matches and the rule accepts it. So a choice that fits locally may be taken back.
// - A match takes over the nodes that its operators name, except for those in `shared`. Their results must
//   have no readers outside of the match: they would still have to be computed. The root may have any
//   readers.
//
// Matching time is proportional to the pattern, regardless of the size of the graph. Patterns are immutable
// after construction, and several threads may match one pattern.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge::match {

// A match of a pattern.
class MGE_API Match {
public:
    // Returns the captured value; no_value if the matching alternative does not have the name.
    ValueId operator[](std::string_view name) const;
    bool has(std::string_view name) const { return (*this)[name] != no_value; }
    // Returns the node that computes the captured value, or its parameters. Throws InternalError if there is
    // none.
    const Node& node(std::string_view name) const;
    template <class O>
    const typename O::Params& params(std::string_view name) const {
        return node(name).as<typename O::Params>();
    }
    // The position of that node in the graph; negative if there is none.
    NodeId computed_at(std::string_view name) const { return graph_.value((*this)[name]).producer; }
    const TensorSpec& spec(std::string_view name) const { return spec((*this)[name]); }
    const TensorSpec& spec(ValueId value) const {
        return is_root(value) ? *result_ : graph_.value(value).spec;
    }
    // Returns the captured constant. The value must be one.
    const Tensor& constant(std::string_view name) const { return graph_.value((*this)[name]).constant; }
    // The product of the numbers captured under the name, or 1.
    double number(std::string_view name) const;

    // The graph of the captured values and of the root's inputs.
    const Graph& graph() const { return graph_; }
    const Node& root() const { return *root_; }
    // The spec of the root's first output.
    const TensorSpec& result() const { return *result_; }
    // The number of inputs and graph outputs that read the value.
    int uses(ValueId value) const { return uses_[size_t(value)]; }

protected:
    Match(const Graph& graph, const std::vector<int>& uses) : graph_(graph), uses_(uses) {}
    bool is_root(ValueId value) const { return value == root_value_; }

    const Graph& graph_;
    const std::vector<int>& uses_;
    const Node* root_ = nullptr;
    ValueId root_value_ = no_value;
    const TensorSpec* result_ = nullptr;
    std::vector<std::pair<std::string_view, ValueId>> values_;
    std::vector<std::pair<std::string_view, double>> numbers_;
};

class Part;

// A value type; copies share their parts.
class MGE_API Pattern {
public:
    explicit Pattern(std::shared_ptr<const Part> part) : part_(std::move(part)) {}
    const Part& part() const { return *part_; }

private:
    std::shared_ptr<const Part> part_;
};

using NodeTest = std::function<bool(const Match&, const Node&)>;

// Any value. Without a name it is not captured.
MGE_API Pattern any(std::string name = {});
// A constant.
MGE_API Pattern constant(std::string name = {});
// A constant with one f32 element: any number, or `wanted` to about five digits.
MGE_API Pattern number(std::string name);
MGE_API Pattern number(double wanted);
// True if `found` is `wanted` to about five digits.
MGE_API bool is_near(double found, double wanted);

// Matches the first output of a node that passes the test. The operands match the node's first inputs; it may
// have more.
MGE_API Pattern node(NodeTest test, std::vector<Pattern> operands = {}, const OpInfo* op = nullptr,
                     bool either_order = false);
template <class O, class... P>
Pattern op(P... operands) {
    return node(nullptr, {std::move(operands)...}, &O::info);
}
template <class O, class... P>
Pattern op_if(NodeTest test, P... operands) {
    return node(std::move(test), {std::move(operands)...}, &O::info);
}
// Like op(), for an operator with two inputs in any order.
template <class O>
Pattern either_order(Pattern a, Pattern b) {
    return node(nullptr, {std::move(a), std::move(b)}, &O::info, true);
}

// Captures the pattern's value under a name.
MGE_API Pattern capture(std::string name, Pattern pattern);
MGE_API Pattern one_of(std::vector<Pattern> patterns);
// A value with exactly one reader.
MGE_API Pattern used_once(Pattern pattern);
// Nodes of the pattern may have other readers, and the match does not take them over.
MGE_API Pattern shared(Pattern pattern);

// Matches a product of `factor` and the patterns in any order, written with `mul`, or `div` by numbers. Inner
// products without other readers are multiplied out, up to eight in all. A factor of 1 must be exact; others
// are compared as in `number`.
MGE_API Pattern product(double factor, std::vector<Pattern> factors);
// Matches the pattern times any numbers, whose product is captured, and the pattern alone. Only numbers that
// leave the spec unchanged, in products without other readers.
MGE_API Pattern scaled(std::string number, Pattern pattern);

// The replacement of a match: a value of the matched graph, a new constant, or a new node.
class MGE_API New {
public:
    New(ValueId value) : value_(value) {}  // no_value for an absent input
    New(Tensor constant) : constant_(std::move(constant)) {}
    New(const OpInfo& op, std::shared_ptr<const void> params, std::vector<New> operands,
        std::string name = {});
    New named(std::string name) const;

private:
    friend class Replacements;
    struct Application;
    ValueId value_ = no_value;
    Tensor constant_;
    std::shared_ptr<const Application> application_;
};
template <class O>
New made(const typename O::Params& params, std::vector<New> operands) {
    return {O::info, std::make_shared<const typename O::Params>(params), std::move(operands)};
}

// `replace` returns nullopt to decline; then the pattern's next alternative is tried, and the next rule. The
// replacement must have the spec of the root's result. It is called once for each match that it accepts.
template <class C>
struct Rule {
    Pattern pattern;
    std::optional<New> (*replace)(const Match&, const C& context);
};
template <class C>
using Table = std::vector<Rule<C>>;

enum class Against : uint8_t {
    // The original graph, from the last node to the first: the outermost of nested matches wins.
    source,
    // The graph as rewritten so far, from the first node to the last, so that chains collapse step by step.
    // `root().outputs` are not values of this graph.
    target,
};

// Type-erased rules.
struct Rules {
    std::vector<const Pattern*> patterns;
    std::function<std::optional<New>(size_t rule, const Match&)> replace;
    bool (*may_match)(const Match&) = nullptr;  // called before any pattern is tried on a root
    Against against = Against::source;
};
// Returns the graph unchanged if nothing matches. Nodes in `shared` may remain without readers.
MGE_API Graph replace_matches(Graph graph, const Rules& rules);

template <class C>
Graph replace_matches(Graph graph, const Table<C>& table, const C& context,
                      bool (*may_match)(const Match&) = nullptr, Against against = Against::source) {
    Rules rules{{}, {}, may_match, against};
    for (auto& rule : table) rules.patterns.push_back(&rule.pattern);
    rules.replace = [&](size_t rule, const Match& match) { return table[rule].replace(match, context); };
    return replace_matches(std::move(graph), rules);
}

}  // namespace mge::match
