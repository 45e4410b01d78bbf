// SPDX-License-Identifier: Apache-2.0
// A convolution does not care in which order it reads channels, if its weights have the same:
//
//     conv(take_channels(xs, c), w) => conv(take_channels(xs, sorted c), take_channels(w, order))
//
// for constant weights. In ascending order neighbours stay neighbours, and whole runs of channels are moved
// at once. A depthwise convolution passes the order on to the readers of its result.

#include <algorithm>
#include <map>
#include <numeric>

#include "libmge/graph/readers.h"
#include "libmge/graph/rewrite.h"
#include "libmge/op/apply.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "libmge/ops/shape/layout/take_channels.h"
#include "libmge/passes/channel_order.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

enum ConvInput : size_t { image, weight, bias, residual };

// Slices of a constant along an axis, in another order.
Tensor in_order(const Tensor& constant, int axis, const IntList& order) {
    auto& shape = constant.shape();
    auto dims = shape.dims();
    int64_t before = Shape(dims.first(size_t(axis))).numel(),
            behind = Shape(dims.subspan(size_t(axis) + 1)).numel();
    Shape as_images{before, shape[axis], 1, behind};
    InterpreterScope eager(eager_interpreter());
    return ops::take_channels({constant.with_shape(as_images)}, {.channels = order}).with_shape(shape);
}

class ChannelOrders {
public:
    explicit ChannelOrders(const Graph& graph)
        : graph_(graph), readers_(readers_of_values(graph)), uses_(graph.use_counts()), rewrite_(graph) {}

    Graph run() {
        for (size_t i = 0; i < graph_.nodes().size(); ++i) place(NodeId(i));
        return rewrite_.finish();
    }

private:
    const Shape& shape(ValueId id) const { return graph_.value(id).spec.shape; }

    bool is_plain(const Node& node) const {
        return node.as<ops::Conv2d::Params>().groups == 1 && shape(node.inputs[weight]).rank() == 4;
    }
    bool has_constant_bias(const Node& node) const {
        ValueId id = given_input(node, bias);
        if (id == no_value) return true;
        auto& value = graph_.value(id);
        return value.is_constant() && value.spec.shape.rank() == 4 &&
               value.spec.shape[1] == shape(node.outputs[0])[1];
    }

    // All that read the value can have its channels in another order.
    bool may_be_ordered(ValueId id) const {
        auto& readers = readers_[size_t(id)];
        if (uses_[size_t(id)] != int(readers.size())) return false;  // an output of the graph
        return std::ranges::all_of(readers, [&](NodeId reader) { return may_read_ordered(reader, id); });
    }
    bool may_read_ordered(NodeId reader, ValueId id) const {
        auto& node = graph_.node(reader);
        if (node.op != &ops::Conv2d::info || node.inputs[image] != id || given_input(node, residual) == id ||
            !constant_of(graph_, node.inputs[weight]))
            return false;
        if (is_plain(node)) return true;
        return is_depthwise(graph_, node) && has_constant_bias(node) &&
               given_input(node, residual) == no_value && may_be_ordered(node.outputs[0]);
    }

    void place(NodeId id) {
        auto& node = graph_.node(id);
        if (node.op == &ops::TakeChannels::info && place_sorted(id)) return;
        auto order = node.inputs.empty() ? orders_.end() : orders_.find(node.inputs[0]);
        if (order == orders_.end()) return rewrite_.copy(id);
        auto inputs = rewrite_(node.inputs);
        auto reorder = [&](ConvInput which, int axis) {
            inputs[which] = rewrite_.target().add_constant(
                in_order(graph_.value(node.inputs[which]).constant, axis, order->second), {},
                graph_.value(node.inputs[which]).device);
        };
        if (is_plain(node)) {
            reorder(weight, 1);
        } else {
            reorder(weight, 0);
            if (given_input(node, bias) != no_value) reorder(bias, 1);
            orders_[node.outputs[0]] = order->second;
        }
        rewrite_.copy_with(id, node.params, std::move(inputs));
    }

    // False when its channels have to stay as they are, or are in order.
    bool place_sorted(NodeId id) {
        auto& node = graph_.node(id);
        auto& [channels, before] = node.as<ops::TakeChannels::Params>();
        if (std::ranges::is_sorted(channels) || !may_be_ordered(node.outputs[0])) return false;
        IntList order(channels.size());
        std::iota(order.begin(), order.end(), 0);
        std::ranges::stable_sort(order, {}, [&](int64_t i) { return channels[size_t(i)]; });
        auto params = std::make_shared<ops::TakeChannels::Params>();
        for (int64_t i : order) {
            params->channels.push_back(channels[size_t(i)]);
            params->order.push_back(before.empty() ? i : before[size_t(i)]);
        }
        rewrite_.copy_with(id, std::move(params), rewrite_(node.inputs));
        orders_[node.outputs[0]] = std::move(order);
        return true;
    }

    const Graph& graph_;
    std::vector<std::vector<NodeId>> readers_;
    std::vector<int> uses_;
    Rewrite rewrite_;
    std::map<ValueId, IntList> orders_;  // by value of the source: which of its channels the target's are
};

}  // namespace

Graph order_channels(Graph graph, const PassOptions&) {
    return has_operator(graph, {&ops::TakeChannels::info}) ? ChannelOrders(graph).run() : graph;
}

}  // namespace mge
