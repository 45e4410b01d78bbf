// SPDX-License-Identifier: Apache-2.0
// Operators that contain values, and attributes that functions get from their callers.

#include <set>

#include "libmge/device/device.h"
#include "libmge/model/import/onnx/importer.h"
#include "libmge/model/import/onnx/shapes/late_values.h"
#include "libmge/op/apply.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/tensor/dtype_dispatch.h"
#include "libmge/tensor/narrow.h"

namespace mge::onnx {
namespace {

Tensor float_vector(const FloatList& values) {
    std::vector<float> data(values.begin(), values.end());
    return tensor_from_host({DType::f32, {int64_t(data.size())}, {}}, data.data(), host_device);
}

// Attributes of a node in the body, with those of the caller where they refer to it.
struct Call {
    const file::FunctionProto& function;
    const file::NodeProto& caller;
    std::set<std::string_view> left_out{};  // inputs of the function

    void take_over(file::NodeProto& node) const;

private:
    void take_over(file::GraphProto& graph) const {
        for (auto& node : *graph.mutable_node()) take_over(node);
    }
    const file::AttributeProto* given(const std::string& name) const;
};

const file::AttributeProto* Call::given(const std::string& name) const {
    for (auto& attribute : caller.attribute())
        if (attribute.name() == name) return &attribute;
    for (auto& attribute : function.attribute_proto())
        if (attribute.name() == name) return &attribute;
    return nullptr;
}

void Call::take_over(file::NodeProto& node) const {
    for (auto& input : *node.mutable_input())
        if (left_out.contains(input)) input.clear();
    google::protobuf::RepeatedPtrField<file::AttributeProto> kept;
    for (auto& attribute : *node.mutable_attribute()) {
        if (attribute.has_g()) take_over(*attribute.mutable_g());
        auto* value = attribute.ref_attr_name().empty() ? &attribute : given(attribute.ref_attr_name());
        if (!value) continue;
        auto* copy = kept.Add();
        *copy = *value;
        copy->set_name(attribute.name());
    }
    node.mutable_attribute()->Swap(&kept);
}

Tensors import_constant(const Site& site) {
    auto& attributes = site.attributes;
    if (auto* value = attributes.tensor("value")) return {site.importer.constant_of(*value)};
    if (attributes.has("value_int")) {
        int64_t value = attributes.value("value_int", 0);
        return {tensor_from_host({DType::i64, {}, {}}, &value, host_device)};
    }
    if (attributes.has("value_float"))
        return {scalar_tensor(attributes.number("value_float", 0), DType::f32, host_device)};
    if (auto values = attributes.integers("value_ints")) return {vector_of(*values)};
    if (auto values = attributes.numbers("value_floats")) return {float_vector(*values)};
    auto& texts = site.importer.texts();
    if (attributes.has("value_string")) {
        int64_t value = texts.number_of(attributes.word("value_string", ""));
        return {texts.mark(tensor_from_host({DType::i64, {}, {}}, &value, host_device))};
    }
    if (attributes.has("value_strings"))
        return {texts.mark(vector_of(texts.numbers_of(attributes.words("value_strings"))))};
    unsupported("a sparse constant");
}

Tensors import_constant_of_shape(const Site& site) {
    auto* value = site.attributes.tensor("value");
    Tensor fill =
        value ? tensor_of(*value, site.importer.external_files()) : scalar_tensor(0, DType::f32, host_device);
    if (fill.spec().numel() != 1) invalid("its value has shape ", fill.shape(), ", expected one number");
    ops::Full::Params p{.dtype = fill.dtype()};
    if (is_narrow(fill.dtype()))
        p.value = narrow_value(fill.dtype(), *static_cast<const uint8_t*>(fill.data()));
    else
        dispatch_dtype(fill.dtype(), AllTypes{},
                       [&]<class T>(std::type_identity<T>) { p.value = double(*fill.data<T>()); });
    auto known = site.find_values(0);
    if (!known) return {with_shape_of(ops::full(site.in(0), p), site.in(0))};
    p.shape = *known;
    return {ops::full(p)};
}

}  // namespace

google::protobuf::RepeatedPtrField<file::NodeProto> body_of_call(const file::FunctionProto& function,
                                                                 const file::NodeProto& caller) {
    Call call{function, caller};
    for (int i = 0; i < function.input_size(); ++i)
        if (i >= caller.input_size() || caller.input(i).empty()) call.left_out.insert(function.input(i));
    auto nodes = function.node();
    for (auto& node : nodes) call.take_over(node);
    return nodes;
}

ImportRows constants_rows() {
    static constexpr ImportRow rows[] = {
        {"Constant", import_constant},
        {"ConstantOfShape", import_constant_of_shape, 9},
    };
    return rows;
}

}  // namespace mge::onnx
