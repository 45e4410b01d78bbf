// SPDX-License-Identifier: Apache-2.0
#pragma once
// Internals of matching: the parts of patterns, which match.cpp defines, and the state of a match. The
// driver, replace_matches.cpp, starts a walk at each root.

#include <algorithm>
#include <string_view>
#include <vector>

#include "libmge/graph/match.h"

namespace mge::match {

// The continuation of a match. If it returns false, the part tries its next alternative.
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

// A match in progress. A part that fails restores its state.
class Walk : public Match {
public:
    Walk(const Graph& graph, const std::vector<int>& uses) : Match(graph, uses) {}

    // May be called after the graph has grown.
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

    // Returns the node whose first output is the value.
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

    // True if nothing outside reads the results of the nodes.
    bool is_closed() const {
        return std::ranges::all_of(nodes_, [&](NodeId id) {
            return std::ranges::all_of(graph_.node(id).outputs, [&](ValueId output) {
                return uses(output) == std::ranges::count(reads_, output);
            });
        });
    }
    ValueId root_value() const { return root_value_; }
    // The nodes that the match takes over, without the root.
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
    // False if the operator cannot be the pattern's root.
    virtual bool may_start_at(const Node&) const { return false; }
    virtual bool match(Walk& walk, ValueId value, Next next) const = 0;
};

}  // namespace mge::match
