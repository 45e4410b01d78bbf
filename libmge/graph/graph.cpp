// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/graph.h"

#include <atomic>

#include "libmge/device/device.h"
#include "libmge/graph/infer.h"
#include "libmge/graph/place.h"
#include "libmge/graph/require_value.h"

namespace mge {

uint64_t next_graph_id() {
    static std::atomic<uint64_t> last{0};
    return ++last;
}

uint64_t Graph::id() const {
    if (!identity_) return 0;  // moved-from
    uint64_t none = 0;
    if (!identity_->id) identity_->id.compare_exchange_strong(none, next_graph_id());
    return identity_->id;
}

void Graph::throw_missing(const char* what, int id, size_t count) {
    mge::throw_missing("graph", what, id, count);
}

ValueId Graph::add_input(const TensorSpec& spec, std::string name, DeviceId device,
                         OpenDimensions dimensions) {
    values_.push_back({.spec = spec,
                       .name = std::move(name),
                       .is_input = true,
                       .dimensions = std::move(dimensions),
                       .device = device});
    inputs_.push_back(ValueId(values_.size() - 1));
    return inputs_.back();
}

ValueId Graph::add_constant(const Tensor& value, std::string name) {
    return add_constant(value, std::move(name), value.device());
}

ValueId Graph::add_constant(const Tensor& value, std::string name, DeviceId device) {
    values_.push_back(
        {.spec = value.spec(), .name = std::move(name), .constant = to_host(value), .device = device});
    return ValueId(values_.size() - 1);
}

NodeId Graph::add_node(const OpInfo& op, std::shared_ptr<const void> params, std::vector<ValueId> inputs,
                       std::string name, const TensorSpecs* known_outputs, const DeviceId* known_place) {
    DeviceId device =
        known_place ? *known_place : place_of_outputs(op, params.get(), input_places(*this, inputs), {});
    TensorSpecs outputs;
    if (known_outputs) {
        outputs = *known_outputs;
    } else {
        TensorSpecs specs;
        Tensors values;
        for (ValueId id : inputs) {
            specs.push_back(id == no_value ? TensorSpec{} : value(id).spec);
            values.push_back(id == no_value ? Tensor{} : value(id).constant);
        }
        outputs = infer_application(op, params, specs, values).outputs;
    }
    auto id = NodeId(nodes_.size());
    Node node{&op, std::move(params), std::move(inputs), {}, std::move(name)};
    for (size_t i = 0; i < outputs.size(); ++i) {
        node.outputs.push_back(ValueId(values_.size()));
        values_.push_back({.spec = outputs[i], .producer = id, .output_index = int(i), .device = device});
    }
    nodes_.push_back(std::move(node));
    return id;
}

void Graph::reorder(const std::vector<NodeId>& nodes) {
    MGE_CHECK(nodes.size() == nodes_.size());
    std::vector<Node> ordered;
    for (NodeId id : nodes) {
        for (ValueId output : node(id).outputs) value(output).producer = NodeId(ordered.size());
        ordered.push_back(std::move(node(id)));
    }
    nodes_ = std::move(ordered);
}

std::vector<int> Graph::use_counts() const {
    std::vector<int> counts(values_.size());
    for (auto& node : nodes_)
        for (ValueId id : node.inputs)
            if (id != no_value) ++counts[size_t(id)];
    for (ValueId id : outputs_) ++counts[size_t(id)];
    return counts;
}

}  // namespace mge
