// SPDX-License-Identifier: Apache-2.0
#pragma once
// What does not depend on the extents that a model leaves open, nor on those that only a run can tell. A
// model is recorded with some extents; here it is followed in other runs at the same time, each with extents
// of its own. What is equal in all of them is a number of the model's, if the way it was computed proves
// that: sums, products, exact quotients and selections of extents are functions that agree everywhere when
// they agree at these places. Of other functions (a minimum, a comparison, a remainder) nothing is certain:
// what they make of open extents stays a computation.

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "libmge/graph/builder.h"

namespace mge::onnx {

// The first varies all open extents together, the second each in its own way; in the third and the fourth
// they are multiples of all small numbers. One whose extents do not go together with a model is left out from
// there on.
inline constexpr size_t other_runs = 4;
// How long in each run what only a run can tell is taken to be. There may be nothing: then the first five of
// it are none.
inline constexpr std::array<int64_t, other_runs> assumed_lengths{5, 11, 26, 0};
// In these, shapes may be unknown that others have: nobody may know more of lengths that are apart from each
// other, and of nothing some operators make nothing.
bool may_be_unknown(size_t run);
using OtherSpecs = std::array<TensorSpec, other_runs>;
using OtherShapes = std::array<Shape, other_runs>;
// A number in each of them; nullopt: it is not known.
using OtherNumbers = std::optional<std::array<int64_t, other_runs>>;

class OtherExtents {
public:
    explicit OtherExtents(const GraphBuilder& builder) { followed_.push_back({&builder, {}, {}}); }
    // What an input may be in other runs; once for each, before what reads it.
    void add_input(const Tensor& input, const OtherSpecs& others);
    // For the life of an inner graph that is being recorded: what it sees of the graphs around it is theirs.
    void enter(const GraphBuilder& inner, std::span<const Tensor> arguments,
               std::span<const OtherSpecs> others);
    void leave() { followed_.pop_back(); }
    // A value that has just been made, and what it may be in runs, where only they can tell.
    void assume(const Tensor& value, const OtherShapes& shapes);
    // The same, of a vector of any length.
    Tensor assumed_vector(const Tensor& value);

    // All other runs are left out.
    bool is_alone() const;
    // What is kept takes so many.
    size_t bytes() const;
    void forget() { followed_.clear(); }

    // Of a shape that is known, or known but for extents.
    std::optional<int> find_rank(const Tensor& t);
    // Nullopt: it differs between runs, or only a run can tell.
    std::optional<int64_t> find_extent(const Tensor& t, int axis);
    std::optional<Shape> find_shape(const Tensor& t);
    // A small value that every run has; null: there is none.
    Tensor find_value(const Tensor& t);
    // Those of a shape that every run has; of one that is joined of parts there may be some. None: not even
    // how many there are is known.
    std::vector<std::optional<int64_t>> find_numbers(const Tensor& vector);
    // The same, where runs need not agree.
    std::vector<OtherNumbers> find_other_numbers(const Tensor& vector);
    OtherNumbers find_other_extents(const Tensor& t, int axis);
    // Shapes are unknown where nobody can tell.
    OtherSpecs specs_of(const Tensor& t);

private:
    struct Other {
        TensorSpec spec;
        Tensor value;
        bool operator==(const Other& other) const { return spec == other.spec && value.is_same(other.value); }
    };
    struct Others {
        std::array<Other, other_runs> runs;
        bool is_doubtful = false;  // values that are equal prove nothing
        bool is_assumed = false;   // its shapes follow from some that are assumed
        bool operator==(const Others&) const = default;
    };
    // Most values are in other runs what the value before them or an operand is there: they share it.
    using SharedOthers = std::shared_ptr<const Others>;
    struct Followed {
        const GraphBuilder* builder;
        std::vector<SharedOthers> values;  // by id; null: not asked for yet
        std::map<ValueId, OtherShapes> assumed;
        size_t nodes = 0, kept = 0;
    };
    static void keep(Followed& graph, ValueId id, const Others& others, std::span<const ValueId> like);
    Followed* find_followed(const Tensor& t);
    // Takes note of the nodes that came since.
    void follow(Followed& graph);
    void follow(Followed& graph, NodeId id);
    void follow(Followed& graph, const Node& node, size_t run, std::vector<Others>& outputs);
    bool is_assumed(Followed& graph, const Node& node);
    const Others& others(Followed& graph, ValueId id);
    Others captured(Followed& graph, ValueId id);
    Others others(const Tensor& t);
    Tensor find_value(Followed& graph, ValueId id);
    std::optional<int64_t> find_length(Followed& graph, ValueId vector);
    // What `find` knows of a vector as a whole, else of those that it is joined of.
    template <class Number>
    using Find = std::vector<Number> (OtherExtents::*)(Followed& graph, ValueId vector);
    template <class Number>
    std::vector<Number> numbers_of_parts(Followed& graph, ValueId vector, int depth, Find<Number> find);
    std::vector<std::optional<int64_t>> find_all_numbers(Followed& graph, ValueId vector);
    std::vector<OtherNumbers> find_all_other_numbers(Followed& graph, ValueId vector);
    bool is_doubtful(Followed& graph, const Node& node, std::span<const Others> outputs);
    bool varies(Followed& graph, ValueId id, bool reads_value);
    bool is_proof(Followed& graph, const Node& node);

    std::vector<Followed> followed_;  // from the outermost graph on
    std::array<bool, other_runs> is_left_out_{};
    bool differs_ = false;  // some extent does
};

// That of the importer that is at work in this thread; rank_of() asks it.
class FollowScope {
public:
    explicit FollowScope(OtherExtents& extents);
    ~FollowScope();
    FollowScope(const FollowScope&) = delete;
    static OtherExtents* current();

private:
    OtherExtents* outer_;
};

}  // namespace mge::onnx
