// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulated/cudnn_descriptor.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "libmge/base/error.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace mge::cuda::emulated {
namespace {

constexpr int64_t most_axes = 8;

struct Rule {
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    int64_t most = 1;
    bool is_needed = true;
    std::optional<cudnnBackendDescriptorType_t> other{};
    std::optional<cudnnBackendAttributeType_t> or_type{};
};
using Rules = std::vector<Rule>;

Rule tensor(cudnnBackendAttributeName_t name, bool is_needed = true) {
    return {name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, is_needed, CUDNN_BACKEND_TENSOR_DESCRIPTOR};
}
Rule descriptor(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type, bool is_needed = true) {
    return {name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, is_needed, type};
}
Rules convolution(std::array<cudnnBackendAttributeName_t, 3> tensors, cudnnBackendAttributeName_t window,
                  cudnnBackendAttributeName_t alpha, cudnnBackendAttributeName_t beta) {
    auto factor = [](cudnnBackendAttributeName_t name) {
        return Rule{.name = name, .type = CUDNN_TYPE_FLOAT, .or_type = CUDNN_TYPE_INT32};
    };
    return {tensor(tensors[0]), tensor(tensors[1]),
            tensor(tensors[2]), descriptor(window, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR),
            factor(alpha),      factor(beta)};
}

// The attributes of each kind of descriptor.
const std::map<cudnnBackendDescriptorType_t, Rules> rules_by_type{
    {CUDNN_BACKEND_TENSOR_DESCRIPTOR,
     {{CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64},
      {CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE},
      {CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64},
      {CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, most_axes},
      {CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, most_axes},
      {CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, false},
      {CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, false}}},
    {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR,
     {{CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64},
      {CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE},
      {CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE},
      {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, most_axes},
      {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, most_axes},
      {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, most_axes},
      {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, most_axes}}},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR,
     {{CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE},
      {CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE},
      {CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, 1, false},
      {CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, false}}},
    {CUDNN_BACKEND_MATMUL_DESCRIPTOR, {{CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE}}},
    {CUDNN_BACKEND_REDUCTION_DESCRIPTOR,
     {{CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE},
      {CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE}}},
    {CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
     {descriptor(CUDNN_ATTR_OPERATION_MATMUL_DESC, CUDNN_BACKEND_MATMUL_DESCRIPTOR),
      tensor(CUDNN_ATTR_OPERATION_MATMUL_ADESC), tensor(CUDNN_ATTR_OPERATION_MATMUL_BDESC),
      tensor(CUDNN_ATTR_OPERATION_MATMUL_CDESC)}},
    {CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
     {descriptor(CUDNN_ATTR_OPERATION_REDUCTION_DESC, CUDNN_BACKEND_REDUCTION_DESCRIPTOR),
      tensor(CUDNN_ATTR_OPERATION_REDUCTION_XDESC), tensor(CUDNN_ATTR_OPERATION_REDUCTION_YDESC)}},
    {CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR,
     {tensor(CUDNN_ATTR_OPERATION_RESHAPE_XDESC), tensor(CUDNN_ATTR_OPERATION_RESHAPE_YDESC)}},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     convolution({CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA)},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     convolution({CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA)},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     convolution(
         {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
         CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA)},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
     {descriptor(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_BACKEND_POINTWISE_DESCRIPTOR),
      tensor(CUDNN_ATTR_OPERATION_POINTWISE_XDESC), tensor(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, false),
      tensor(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, false), tensor(CUDNN_ATTR_OPERATION_POINTWISE_YDESC)}},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR,
     {{CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, false},
      {CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 100}}},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR,
     {descriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR),
      {CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE},
      descriptor(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, false)}},
    {CUDNN_BACKEND_ENGINE_DESCRIPTOR,
     {descriptor(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR),
      {CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64},
      descriptor(CUDNN_ATTR_ENGINE_DEVICEPROP, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, false)}},
    {CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR,
     {{CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE},
      {CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64}}},
    {CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
     {descriptor(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR),
      {CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS, false,
       CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR}}},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
     {{CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, false},
      descriptor(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, false),
      descriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)}},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
     {{CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 100},
      {CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 100},
      {CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, false}}},
    {CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR,
     {{CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, int64_t(1) << 20}}},
};

const Rules& rules_of(cudnnBackendDescriptorType_t type) {
    static const Rules none;
    auto found = rules_by_type.find(type);
    return found == rules_by_type.end() ? none : found->second;
}

size_t size_of(cudnnBackendAttributeType_t type) {
    switch (type) {
        case CUDNN_TYPE_BOOLEAN:
        case CUDNN_TYPE_CHAR:
            return 1;
        case CUDNN_TYPE_INT64:
        case CUDNN_TYPE_HANDLE:
        case CUDNN_TYPE_VOID_PTR:
            return 8;
        default:
            return 4;  // enumerations and floats
    }
}

std::string why_no_tensor(const Descriptor& d) {
    int64_t rank = d.count(CUDNN_ATTR_TENSOR_DIMENSIONS);
    if (rank < 3 || d.count(CUDNN_ATTR_TENSOR_STRIDES) != rank) return "3 to 8 dims, and as many strides";
    for (int64_t i = 0; i < rank; ++i)
        if (d.values<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS)[i] < 1 ||
            d.values<int64_t>(CUDNN_ATTR_TENSOR_STRIDES)[i] < 1)
            return "dims and strides are at least 1";
    int64_t alignment = d.value<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
    return alignment > 0 && (alignment & (alignment - 1)) == 0 ? "" : "the alignment is a power of two";
}

std::string why_no_window(const Descriptor& d) {
    int64_t axes = d.value<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
    for (auto name : {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
                      CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES})
        if (d.count(name) != axes) return "a value for each axis of the window";
    return {};
}

std::string why_no_pointwise(const Descriptor& d) {
    auto& what = d.other(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    auto mode = what.value<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
    constexpr cudnnPointwiseMode_t binary[] = {CUDNN_POINTWISE_ADD,    CUDNN_POINTWISE_SUB,
                                               CUDNN_POINTWISE_MUL,    CUDNN_POINTWISE_DIV,
                                               CUDNN_POINTWISE_CMP_GE, CUDNN_POINTWISE_BINARY_SELECT};
    if (d.has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC) != (std::ranges::find(binary, mode) != std::end(binary)))
        return "B for what takes two operands alone";
    if (d.has(CUDNN_ATTR_OPERATION_POINTWISE_TDESC) != (mode == CUDNN_POINTWISE_BINARY_SELECT))
        return "T for a selection alone";
    return what.has(CUDNN_ATTR_POINTWISE_AXIS) == (mode == CUDNN_POINTWISE_GEN_INDEX)
               ? ""
               : "an axis for indices alone";
}

std::string why_no_pack(const Descriptor& d) {
    return d.count(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS) == d.count(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)
               ? ""
               : "as many pointers as ids";
}

}  // namespace

std::string Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t given,
                            int64_t count, const void* values) {
    if (is_final) return "it is finalized";
    auto& rules = rules_of(type);
    auto rule = std::ranges::find(rules, name, &Rule::name);
    if (rule == rules.end()) return "this descriptor has no such attribute";
    if (rule->type != given && rule->or_type != given)
        return text("an attribute of type ", int(rule->type), " is given as ", int(given));
    if (count < 1 || count > rule->most || !values) return text(count, " values of at most ", rule->most);
    Attribute made{given, count, {}, {}};
    if (given == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        for (int64_t i = 0; i < count; ++i) {
            auto* other = static_cast<Descriptor*>(static_cast<const cudnnBackendDescriptor_t*>(values)[i]);
            if (!other || !other->is_final) return "a descriptor that is not finalized";
            if (rule->other && other->type != *rule->other) return "a descriptor of another type";
            made.others.push_back(std::make_shared<Descriptor>(*other));
        }
    } else {
        auto* bytes = static_cast<const char*>(values);
        made.bytes.assign(bytes, bytes + size_t(count) * size_of(given));
    }
    attributes[name] = std::move(made);
    return {};
}

std::string Descriptor::why_not_final() const {
    for (auto& rule : rules_of(type))
        if (rule.is_needed && !has(rule.name)) return text("attribute ", int(rule.name), " is missing");
    if (type == CUDNN_BACKEND_TENSOR_DESCRIPTOR) return why_no_tensor(*this);
    if (type == CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR) return why_no_window(*this);
    if (type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) return why_no_pointwise(*this);
    if (type == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) return why_no_pack(*this);
    return {};
}

}  // namespace mge::cuda::emulated
