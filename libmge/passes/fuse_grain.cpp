// SPDX-License-Identifier: Apache-2.0
// mean(mean(x, a), b) => mean(x, a and b), if the inner mean has no other readers: converters write an
// average over height and width as two steps. All groups of the inner mean have the same size, so the mean of
// the means is the mean.
//
// avg_pool2d(avg_pool2d(x, windows a by a), windows b by b) => avg_pool2d(x, windows a · b by a · b), for the
// same reason if the inner windows are adjacent and inside the border.

#include <algorithm>

#include "libmge/graph/match.h"
#include "libmge/ops/nn/pooling/pool2d.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

using match::any, match::capture, match::made, match::Match, match::New, match::op, match::Pattern;

// The axes of x that a mean averages, in rising order.
IntList averaged_axes(const ops::ReduceParams& params, int rank) {
    auto reduced = ops::reduced_axes(ops::Mean::name, params.axes, rank);
    IntList axes;
    for (int i = 0; i < rank; ++i)
        if (reduced[size_t(i)]) axes.push_back(i);
    return axes;
}

template <class O>
std::optional<New> instead_of_both(const Match& m, const typename O::Params& params) {
    return made<O>(params, {m["x"]}).named(m.root().name);
}

std::optional<New> joined_means(const Match& m, const PassOptions&) {
    auto &a = m.params<ops::Mean>("inner"), &b = m.root().as<ops::ReduceParams>();
    // Axes that one keeps and the other drops leave a shape that no single mean has.
    if (a.keepdims != b.keepdims || !m.spec("x").shape.is_known()) return std::nullopt;
    int rank = m.spec("x").shape.rank();
    IntList axes = averaged_axes(a, rank);
    // Which axis of x each axis of the inner mean's result is.
    IntList remaining;
    for (int i = 0; i < rank; ++i)
        if (a.keepdims || std::ranges::find(axes, int64_t(i)) == axes.end()) remaining.push_back(i);
    for (int64_t axis : averaged_axes(b, int(remaining.size())))
        if (int64_t original = remaining[size_t(axis)]; std::ranges::find(axes, original) == axes.end())
            axes.push_back(original);
    std::ranges::sort(axes);
    return instead_of_both<ops::Mean>(m, {.axes = axes, .keepdims = a.keepdims});
}

std::optional<New> joined_pools(const Match& m, const PassOptions&) {
    auto& a = m.params<ops::AvgPool2d>("inner");
    auto both = m.root().as<ops::AvgPool2d::Params>();
    constexpr ops::Pair none{0, 0};
    if (a.padding != none || both.padding != none || a.stride != a.kernel) return std::nullopt;
    // Integers are rounded in between. A stride may be far larger than the image.
    if (!is_float(m.spec("x").dtype) || !m.spec("x").shape.is_known() ||
        std::ranges::max(both.stride) > INT32_MAX)
        return std::nullopt;
    for (size_t i = 0; i < a.kernel.size(); ++i) {
        both.kernel[i] *= a.kernel[i];
        both.stride[i] *= a.stride[i];
    }
    return instead_of_both<ops::AvgPool2d>(m, both);
}

template <class O>
Pattern applied_twice() {
    return op<O>(capture("inner", op<O>(any("x"))));
}

}  // namespace

Graph fuse_grain(Graph graph, const PassOptions& options) {
    static const match::Table<PassOptions> rules{{applied_twice<ops::Mean>(), joined_means},
                                                 {applied_twice<ops::AvgPool2d>(), joined_pools}};
    graph = match::replace_matches(std::move(graph), rules, options, nullptr, match::Against::target);
    return remove_dead_nodes(std::move(graph), options);
}

}  // namespace mge
