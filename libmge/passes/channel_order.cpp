// SPDX-License-Identifier: Apache-2.0
#include "libmge/passes/channel_order.h"

#include "libmge/graph/readers.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "libmge/ops/shape/layout/reorder.h"
#include "libmge/ops/shape/layout/take_channels.h"

namespace mge {
namespace {

Tensor with_channels(const Tensor& plain, const IntList& channels) {
    InterpreterScope eager(eager_interpreter());
    return ops::take_channels({plain}, {.channels = channels});
}

bool keeps_order(const Graph& graph, const Node& node) {
    return node.op == &ops::Reorder::info || node.op == &ops::Convert::info || is_depthwise(graph, node);
}

}  // namespace

bool is_depthwise(const Graph& graph, const Node& node) {
    if (node.op != &ops::Conv2d::info) return false;
    int64_t groups = node.as<ops::Conv2d::Params>().groups;
    auto& weight = graph.value(node.inputs[1]).spec.shape;
    return groups > 1 && weight.rank() == 5 && weight[0] == groups && weight[1] == 1 && weight[2] == 1;
}

IntList channel_order(const Graph& graph, ValueId id) {
    // A program that replays records may have given its nodes up.
    while (auto* node = maker_of(graph, id)) {
        if (node->op == &ops::TakeChannels::info) return node->as<ops::TakeChannels::Params>().order;
        if (!keeps_order(graph, *node)) break;
        id = node->inputs[0];
    }
    return {};
}

Tensor in_source_order(const Graph& graph, ValueId id, const Tensor& plain) {
    IntList order = channel_order(graph, id), places(order.size());
    for (size_t i = 0; i < order.size(); ++i) places[size_t(order[i])] = int64_t(i);
    return order.empty() ? plain : with_channels(plain, places);
}

Tensor from_source_order(const Graph& graph, ValueId id, const Tensor& plain) {
    IntList order = channel_order(graph, id);
    return order.empty() ? plain : with_channels(plain, order);
}

}  // namespace mge
