// SPDX-License-Identifier: Apache-2.0
// Convolutions along one axis are those of images with an axis of size 1, which is removed behind them.
// Elementwise operators compute such images before that, so that convolutions can fuse them, and the next
// convolution reads the image as it is, in any layout:
//
//     f(remove_axis(conv2d(x)), c) => remove_axis(f(conv2d(x), c'))
//
// The other operands, c, are constants, which get the axis too, or other such images.

#include <algorithm>

#include "libmge/graph/readers.h"
#include "libmge/graph/rewrite.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "libmge/ops/quantize/convolution/quantized_conv2d.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

// An image of the target, whose axis is removed.
struct Image {
    ValueId value = no_value;
    int64_t axis = -1;
};

bool makes_images(const Node* node) {
    return node && (node->op == &ops::Conv2d::info || node->op == &ops::Conv2dBackwardData::info ||
                    node->op == &ops::QuantizedConv2d::info);
}

class AxisMover {
public:
    explicit AxisMover(const Graph& graph) : graph_(graph), rewrite_(graph), images_(graph.values().size()) {}

    Graph run() && {
        for (size_t i = 0; i < graph_.nodes().size(); ++i)
            if (!move(NodeId(i))) copy(NodeId(i));
        return rewrite_.finish();
    }

private:
    void copy(NodeId id) {
        rewrite_.copy(id);
        const Node& node = graph_.node(id);
        if (node.op != &ops::RemoveAxis::info || !makes_images(maker_of(graph_, node.inputs[0]))) return;
        const IntList& axes = node.as<ops::RemoveAxis::Params>().axes;
        if (axes.size() == 1 && axes[0] >= 0) image(node.outputs[0]) = {rewrite_(node.inputs[0]), axes[0]};
    }

    bool move(NodeId id) {
        const Node& node = graph_.node(id);
        if (!node.op->traits.elementwise || node.op->traits.once || node.outputs.size() != 1) return false;
        auto first = std::ranges::find_if(node.inputs, [&](ValueId i) { return is_image(i); });
        if (first == node.inputs.end()) return false;
        const int64_t axis = image(*first).axis;
        const int rank = graph_.value(*first).spec.shape.rank();
        auto fits = [&](ValueId input) {
            if (input == no_value) return true;
            auto& value = graph_.value(input);
            return value.is_constant() ? value.spec.shape.rank() <= rank
                                       : is_image(input) && image(input).axis == axis;
        };
        if (!std::ranges::all_of(node.inputs, fits)) return false;
        std::vector<ValueId> inputs;
        for (ValueId input : node.inputs) inputs.push_back(image_of(input, rank, axis));
        Graph& target = rewrite_.target();
        NodeId moved =
            target.add_node(*node.op, node.params, std::move(inputs), {}, nullptr, &graph_.place(node));
        take_work(node, target.node(moved));
        const ValueId result = target.node(moved).outputs[0];
        rewrite_.emit(id, ops::RemoveAxis::info,
                      std::make_shared<const ops::RemoveAxis::Params>(ops::RemoveAxis::Params{{axis}}),
                      {result}, node.name);
        image(node.outputs[0]) = {result, axis};
        return true;
    }

    bool is_image(ValueId id) { return id != no_value && image(id).value != no_value; }
    Image& image(ValueId id) { return images_[size_t(id)]; }

    // A constant counts its axes from the last one.
    ValueId image_of(ValueId id, int rank, int64_t axis) {
        if (id == no_value) return no_value;
        auto& value = graph_.value(id);
        if (!value.is_constant()) return image(id).value;
        Shape shape = value.spec.shape;
        while (shape.rank() < rank) shape.insert(0, 1);
        shape.insert(int(axis), 1);
        return rewrite_.target().add_constant(value.constant.with_shape(shape), value.name, value.device);
    }

    const Graph& graph_;
    Rewrite rewrite_;
    std::vector<Image> images_;  // by value of the source
};

}  // namespace

Graph move_axes(Graph graph, const PassOptions& options) {
    if (!has_operator(graph, {&ops::RemoveAxis::info})) return graph;
    return remove_dead_nodes(AxisMover(graph).run(), options);
}

}  // namespace mge
