// SPDX-License-Identifier: Apache-2.0
// Operators that contain values, and attributes that functions get from their callers.

#include <set>

#include "libmge/device/device.h"
#include "libmge/model/import/onnx/importer.h"
#include "libmge/model/import/onnx/shapes/late_values.h"
#include "libmge/op/apply.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/tensor/dtype_dispatch.h"
#include "libmge/tensor/narrow.h"

namespace mge::onnx {
namespace {

Tensor float_vector(const FloatList& values) {
    std::vector<float> data(values.begin(), values.end());
    return tensor_from_host({DType::f32, {int64_t(data.size())}, {}}, data.data(), host_device);
}

// The places of elements in a tensor of that shape: numbers along all axes, or one per axis.
IntList places_of(const Tensor& indices, const Shape& shape) {
    IntList numbers = numbers_in(indices), places;
    int rank = indices.shape().rank(), axes = rank == 2 ? shape.rank() : 1;
    if (rank < 1 || rank > 2 || (rank == 2 && indices.shape()[1] != axes))
        invalid("the indices of a sparse constant have shape ", indices.shape(), " for ", shape);
    for (size_t i = 0; i < numbers.size();) {
        int64_t place = 0;
        for (int axis = 0; axis < axes; ++axis, ++i) {
            const int64_t size = rank == 2 ? shape[axis] : shape.numel();
            if (numbers[i] < 0 || numbers[i] >= size)
                invalid("index ", numbers[i], " of a sparse constant is out of range for ", shape);
            place = place * size + numbers[i];
        }
        places.push_back(place);
    }
    return places;
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
    if (auto* value = attributes.sparse("sparse_value")) return {dense_of(site.importer, *value)};
    invalid("it has no value");
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

Tensor dense_of(Importer& importer, const file::SparseTensorProto& sparse) {
    Shape shape;
    for (int64_t extent : sparse.dims()) {
        if (extent < 0) invalid("a sparse constant has a dimension of size ", extent);
        if (shape.rank() == max_rank) unsupported("a sparse constant of rank ", sparse.dims_size());
        shape.push_back(extent);
    }
    const int64_t size = checked_numel("sparse constant", shape);
    if (size > INT32_MAX) unsupported("a sparse constant of ", size, " elements");
    if (sparse.values().data_type() == file::TensorProto::STRING) unsupported("a sparse constant of text");
    Tensor values = importer.constant_of(sparse.values());
    IntList places = places_of(importer.constant_of(sparse.indices()), shape);
    if (values.shape().rank() != 1 || values.spec().numel() != int64_t(places.size()))
        invalid("a sparse constant has ", counted(values.spec().numel(), "value"), " for ",
                counted(places.size(), "index", "indices"));
    Tensor zeros = ops::full({.shape = {size}, .dtype = values.dtype()});
    Tensor flat = ops::set_take({zeros, values, as_index(vector_of(places))}, {.axes = {0}});
    return ops::reshape(flat, {.shape = {shape.begin(), shape.end()}});
}

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
