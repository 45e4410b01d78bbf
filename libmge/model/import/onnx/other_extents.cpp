// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/other_extents.h"

#include <cstring>

#include "libmge/base/error.h"
#include "libmge/graph/infer.h"

namespace mge::onnx {
namespace {

bool is_equal(const Tensor& a, const Tensor& b) {
    return a && b && a.spec() == b.spec() && std::memcmp(a.data(), b.data(), a.spec().bytes()) == 0;
}

}  // namespace

void OtherExtents::add_input(const Tensor& input, const TensorSpec& other) {
    auto id = size_t(input.impl()->symbol);
    if (others_.size() <= id) others_.resize(id + 1);
    others_[id] = Other{other, {}};
    differs_ |= !(input.spec() == other);
}

OtherExtents::Other OtherExtents::other(ValueId id) {
    if (id == no_value) return {};
    auto& value = builder_.graph().value(id);
    if (value.is_constant()) return {value.spec, value.constant};
    if (size_t(id) >= others_.size() || !others_[size_t(id)]) follow();
    return others_.at(size_t(id)).value();
}

// Values of inner graphs are followed by nobody.
bool OtherExtents::is_followed(const Tensor& t) const { return t.impl()->symbol_owner == &builder_; }

void OtherExtents::follow(NodeId id) {
    auto& node = builder_.graph().node(id);
    TensorSpecs inputs, recorded;
    Tensors values;
    for (ValueId input : node.inputs) {
        Other other = this->other(input);
        inputs.push_back(other.spec);
        values.push_back(other.value);
    }
    for (ValueId output : node.outputs) recorded.push_back(builder_.graph().value(output).spec);
    TensorSpecs outputs;
    Tensors known;
    try {
        auto inferred = infer_application(*node.op, node.params, inputs, values, &recorded);
        outputs = inferred.outputs;
        auto count = inferred.input_count;
        known = known_outputs(*node.op, inferred.params.get(), std::span(inputs).first(count),
                              std::span(values).first(count), outputs);
    } catch (const UserError&) {
        // Extents that do not go together: nothing is certain about what follows.
        outputs.clear();
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
        TensorSpec unknown{recorded[i].dtype, Shape::unknown(), {}};
        others_[size_t(node.outputs[i])] =
            Other{i < outputs.size() ? outputs[i] : unknown, i < known.size() ? known[i] : Tensor()};
    }
}

void OtherExtents::follow() {
    auto& graph = builder_.graph();
    if (!differs_) return;
    others_.resize(graph.values().size());
    for (; followed_ < graph.nodes().size(); ++followed_) follow(NodeId(followed_));
}

std::optional<Shape> OtherExtents::find_shape(const Tensor& t) {
    if (!t.shape().is_known()) return std::nullopt;
    if (!t.is_symbolic() || !differs_) return t.shape();
    if (!is_followed(t)) return std::nullopt;
    Shape other = this->other(t.impl()->symbol).spec.shape;
    return other == t.shape() ? std::optional(other) : std::nullopt;
}

std::optional<int64_t> OtherExtents::find_extent(const Tensor& t, int axis) {
    if (!t.shape().is_known() || axis >= t.shape().rank()) return std::nullopt;
    int64_t here = t.shape()[axis];
    if (!t.is_symbolic() || !differs_) return here;
    if (!is_followed(t)) return std::nullopt;
    Shape other = this->other(t.impl()->symbol).spec.shape;
    bool is_same = other.is_known() && other.rank() == t.shape().rank() && other[axis] == here;
    return is_same ? std::optional(here) : std::nullopt;
}

Tensor OtherExtents::find_value(const Tensor& t) {
    if (!t.is_symbolic()) return t;
    if (!is_followed(t)) return {};
    Tensor here = builder_.known_value(t.impl()->symbol);
    if (!here || !differs_) return here;
    Tensor there = other(t.impl()->symbol).value;
    return is_equal(here, there) ? here : Tensor();
}

}  // namespace mge::onnx
