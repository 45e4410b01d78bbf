// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finds values that do not depend on a model's open sizes, nor on those known only at run time. A model is
// recorded with some sizes; here it is also traced in other runs, each with other sizes. A value that is
// equal in all of them is constant, if its computation proves that: sums, products, exact quotients and
// selections of sizes are functions that agree everywhere if they agree at these points. For other functions
// (a minimum, a comparison, a remainder) nothing is certain: their results for open sizes stay computations.

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "libmge/graph/builder.h"

namespace mge::onnx {

// The first varies all open sizes together, the second each differently; in the third and the fourth they are
// multiples of all small numbers. A run whose sizes are invalid for a model is dropped at that point.
inline constexpr size_t other_runs = 4;
// The length in each run of dimensions known only at run time. They may be empty: then their first five
// elements are empty, too.
inline constexpr std::array<int64_t, other_runs> assumed_lengths{5, 11, 26, 0};
// Shapes may be unknown in these runs but known in others: lengths are all different in one, and in the other
// some operators have no result for empty inputs.
bool may_be_unknown(size_t run);
using OtherSpecs = std::array<TensorSpec, other_runs>;
using OtherShapes = std::array<Shape, other_runs>;
// A number in each of them; nullopt: unknown.
using OtherNumbers = std::optional<std::array<int64_t, other_runs>>;

class OtherExtents {
public:
    explicit OtherExtents(const GraphBuilder& builder) { followed_.push_back({&builder, {}, {}}); }
    // The specs of an input in other runs; once for each, before it is read.
    void add_input(const Tensor& input, const OtherSpecs& others);
    // For the lifetime of an inner graph that is being recorded: values of outer graphs are theirs.
    void enter(const GraphBuilder& inner, std::span<const Tensor> arguments,
               std::span<const OtherSpecs> others);
    void leave() { followed_.pop_back(); }
    // Declares the shapes in other runs of a new value, if they are known only at run time.
    void assume(const Tensor& value, const OtherShapes& shapes);
    // The same, of a vector of any length.
    Tensor assumed_vector(const Tensor& value);

    // All other runs are left out.
    bool is_alone() const;
    // Memory of the recorded information.
    size_t bytes() const;
    void forget() { followed_.clear(); }

    // The rank of a shape that is known, or known except for sizes.
    std::optional<int> find_rank(const Tensor& t);
    // Nullopt: it differs between runs, or is known only at run time.
    std::optional<int64_t> find_extent(const Tensor& t, int axis);
    std::optional<Shape> find_shape(const Tensor& t);
    // A small value that is the same in every run; null: there is none.
    Tensor find_value(const Tensor& t);
    // The constant numbers of a shape; a shape joined from parts may have some. Nullopt: even its length is
    // unknown.
    std::vector<std::optional<int64_t>> find_numbers(const Tensor& vector);
    // The same, where runs need not agree.
    std::vector<OtherNumbers> find_other_numbers(const Tensor& vector);
    OtherNumbers find_other_extents(const Tensor& t, int axis);
    // Shapes are unknown where they cannot be determined.
    OtherSpecs specs_of(const Tensor& t);

private:
    struct Other {
        TensorSpec spec;
        Tensor value;
        bool operator==(const Other& other) const { return spec == other.spec && value.is_same(other.value); }
    };
    struct Others {
        std::array<Other, other_runs> runs;
        bool is_doubtful = false;  // equal values prove nothing
        bool is_assumed = false;   // its shapes follow from some that are assumed
        bool operator==(const Others&) const = default;
    };
    // Most values in other runs equal the previous value or an operand: they share it.
    using SharedOthers = std::shared_ptr<const Others>;
    struct Followed {
        const GraphBuilder* builder;
        std::vector<SharedOthers> values;  // by id; null: not computed yet
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
    // The result of `find` for a vector as a whole, otherwise for its parts.
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
    bool differs_ = false;  // some size differs
};

// The importer that is active on this thread; rank_of() uses it.
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
