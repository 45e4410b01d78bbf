// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decision trees over the columns of a table, as forests and boosted trees are.

#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge {

namespace ops {
// How leaves are combined. The values are in the order of the names below.
enum class TreeAggregate { sum, average, min, max };
// How a node asks whether its feature x goes to the first child, t being its threshold.
enum class TreeQuestion : uint8_t { at_most, below, at_least, above, equal, different, leaf };
}  // namespace ops

template <>
struct EnumNames<ops::TreeAggregate> {
    static constexpr std::string_view names[] = {"sum", "average", "min", "max"};
};

namespace ops {

struct TreeEnsemble {
    static constexpr auto name = "tree_ensemble";
    static constexpr auto doc =
        "Evaluates decision trees for each row of x (n, features). At each node, starting from the root, a "
        "row goes to the first child if it satisfies the comparison and to the second child otherwise. A "
        "leaf adds its weights to the targets (n, targets). Nodes have `questions` (u8: x <= t, x < t, x "
        ">= t, x > t, x == t, x != t, leaf), `features` (i32), `thresholds` (f32), `children` (nodes, 2) "
        "(i32) and `missing` (u8: NaN goes to the first child). Children come after their node; those of a "
        "leaf are the range of its rows in `leaves`. `roots` (trees) are nodes. `leaves` (i32) are targets "
        "and `weights` (f32) their values.";
    static constexpr auto inputs = names("x", "questions", "features", "thresholds", "children", "missing",
                                         "roots", "leaves", "weights");
    static constexpr bool stops_gradient = true;
    struct Params {
        int64_t targets = 1;
        TreeAggregate aggregate = TreeAggregate::sum;
    };
    static constexpr auto fields =
        field_list(field<&Params::targets>("targets", "Number of targets."),
                   field<&Params::aggregate>("aggregate",
                                             "Combination of the weights of several leaves for one target."));
    static constexpr UnknownOperations operations{};
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<TreeEnsemble> tree_ensemble{};

}  // namespace ops
}  // namespace mge
