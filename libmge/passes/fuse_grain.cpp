// SPDX-License-Identifier: Apache-2.0
// mean(mean(x, a), b) => mean(x, a and b), where nobody else reads the inner mean: what converters write for
// an average over height and width is one step. All parts that an inner mean averages are of one size, so
// the mean of the means is the mean.
//
// avg_pool2d(avg_pool2d(x, windows a by a), windows b by b) => avg_pool2d(x, windows a · b by a · b), for the
// same reason where the inner windows lie side by side and none reaches over the border.

#include <algorithm>

#include "libmge/graph/rewrite.h"
#include "libmge/ops/nn/pooling/pool2d.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

// The axes of x that a mean averages, in rising order.
IntList averaged_axes(const ops::ReduceParams& params, int rank) {
    auto reduced = ops::reduced_axes(ops::Mean::name, params.axes, rank);
    IntList axes;
    for (int i = 0; i < rank; ++i)
        if (reduced[size_t(i)]) axes.push_back(i);
    return axes;
}

// Both means as one on the inner one's input; null when they are none.
std::shared_ptr<const void> joined_means(const Graph& graph, const Node& outer, const Node& inner) {
    auto &a = inner.as<ops::ReduceParams>(), &b = outer.as<ops::ReduceParams>();
    int rank = graph.value(inner.inputs[0]).spec.shape.rank();
    IntList axes = averaged_axes(a, rank);
    // Which axis of x each axis of the inner mean's result is.
    IntList remaining;
    for (int i = 0; i < rank; ++i)
        if (a.keepdims || std::ranges::find(axes, int64_t(i)) == axes.end()) remaining.push_back(i);
    for (int64_t axis : averaged_axes(b, int(remaining.size())))
        if (int64_t original = remaining[size_t(axis)]; std::ranges::find(axes, original) == axes.end())
            axes.push_back(original);
    std::ranges::sort(axes);
    // Axes that one keeps and the other drops leave a shape that no single mean has.
    if (a.keepdims != b.keepdims) return nullptr;
    auto params = std::make_shared<ops::ReduceParams>();
    params->axes = axes;
    params->keepdims = a.keepdims;
    return params;
}

// Both poolings as one on the inner one's input; null when they are none.
std::shared_ptr<const void> joined_pools(const Graph& graph, const Node& outer, const Node& inner) {
    using Params = ops::AvgPool2d::Params;
    auto &a = inner.as<Params>(), &b = outer.as<Params>();
    constexpr ops::Pair none{0, 0};
    if (a.padding != none || b.padding != none || a.stride != a.kernel) return nullptr;
    // Integers are rounded in between. A stride may be far larger than the image.
    if (!is_float(graph.value(inner.inputs[0]).spec.dtype) || std::ranges::max(b.stride) > INT32_MAX)
        return nullptr;
    auto params = std::make_shared<Params>(b);
    for (size_t i = 0; i < a.kernel.size(); ++i) {
        params->kernel[i] *= a.kernel[i];
        params->stride[i] *= a.stride[i];
    }
    return params;
}

std::shared_ptr<const void> joined(const Graph& graph, const Node& outer, const Node& inner) {
    return outer.op == &ops::Mean::info ? joined_means(graph, outer, inner)
                                        : joined_pools(graph, outer, inner);
}

}  // namespace

Graph fuse_grain(Graph graph, const PassOptions&) {
    if (!has_operator(graph, {&ops::Mean::info, &ops::AvgPool2d::info}))
        return remove_dead_nodes(std::move(graph), {});
    auto uses = graph.use_counts();
    Rewrite rewrite(graph);
    // The same operator before, of which one will be made with this one; -1: none.
    auto inner_of = [&](const Graph& g, const Node& node) -> NodeId {
        if (node.op != &ops::Mean::info && node.op != &ops::AvgPool2d::info) return -1;
        auto& x = g.value(node.inputs[0]);
        if (x.producer < 0 || g.node(x.producer).op != node.op) return -1;
        if (!g.value(g.node(x.producer).inputs[0]).spec.shape.is_known()) return -1;
        return x.producer;
    };
    for (size_t i = 0; i < graph.nodes().size(); ++i) {
        auto& node = graph.node(NodeId(i));
        NodeId inner = inner_of(graph, node);
        if (inner < 0 || uses[size_t(node.inputs[0])] != 1) {
            rewrite.copy(NodeId(i));
            continue;
        }
        // In the target the inner one may already be several.
        auto& done = rewrite.target().node(rewrite.target().value(rewrite(node.inputs[0])).producer);
        auto params = joined(rewrite.target(), node, done);
        if (!params) {
            rewrite.copy(NodeId(i));
            continue;
        }
        const Node inner_done = done;  // with those that it took in; the next line moves the nodes
        rewrite.emit(NodeId(i), *node.op, params, {inner_done.inputs[0]}, node.name);
        Graph& target = rewrite.target();
        take_work(inner_done, target.node(target.value(rewrite(node.outputs[0])).producer));
    }
    return remove_dead_nodes(rewrite.finish(), {});
}

}  // namespace mge
