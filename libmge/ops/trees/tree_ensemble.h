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
        "What decision trees say of each row of x (n, features): from its root a row goes to the first child "
        "of a node where the answer to its question is yes, else to the second, until a leaf adds its "
        "weights to the targets (n, targets).";
    static constexpr auto inputs = names("x", "questions", "features", "thresholds", "children", "missing",
                                         "roots", "leaves", "weights");
    static constexpr auto outputs = output_names("y");
    static constexpr bool stops_gradient = true;
    struct Params {
        int64_t targets = 1;
        TreeAggregate aggregate = TreeAggregate::sum;
        bool operator==(const Params&) const = default;
    };
    static constexpr auto fields = field_list(
        field<&Params::targets>("targets", "How many numbers a row gets."),
        field<&Params::aggregate>(
            "aggregate",
            "What becomes of the weights of different leaves for one target. Of the inputs, the nodes have "
            "`questions` (u8: x <= t, x < t, x >= t, x > t, x == t, x != t, leaf), `features` and `children` "
            "(nodes, 2) (i32; children stand behind their node; those of a leaf are the bounds of its rows "
            "in "
            "`leaves`), `thresholds` (f32) and `missing` (u8: NaN goes to the first child). `roots` (trees) "
            "are nodes; `leaves` (i32) are targets and `weights` (f32) what they get."));
    static constexpr UnknownOperations operations{};
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, std::span<const TensorSpec>);
    MGE_API static const OpInfo info;
};
KernelList kernels(Cpu, TreeEnsemble);
inline constexpr OpFunction<TreeEnsemble> tree_ensemble{};

}  // namespace ops
}  // namespace mge
