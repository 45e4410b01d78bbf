// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/onednn/operation.h"

namespace mge::onednn {
namespace {

// Backward operations are described with the help of some forward one.
std::optional<Operation> forward_of(const ConvolutionDesc& d) {
    if (is_forward(d.direction)) return std::nullopt;
    ConvolutionDesc forward = d;
    forward.direction = dnnl_forward_inference;
    forward.algorithm = dnnl_convolution_direct;
    forward.x = any_layout(d.x), forward.y = any_layout(d.y);
    return forward;
}
std::optional<Operation> forward_of(const PoolingDesc& d) {
    if (is_forward(d.direction)) return std::nullopt;
    PoolingDesc forward = d;
    forward.direction = dnnl_forward_training;
    return forward;
}
template <class OtherDesc>
std::optional<Operation> forward_of(const OtherDesc&) {
    return std::nullopt;
}

}  // namespace

void visit_implementations(const Operation& operation, const PrimitiveAttr& attr,
                           const TakeImplementation& take) {
    PrimitiveDesc hint;
    if (auto forward = std::visit([](auto& d) { return forward_of(d); }, operation)) {
        hint = first_implementation(*forward, attr);
        if (!hint) return;
    }
    visit_implementations(operation, attr, hint.get(), take);
}

PrimitiveDesc first_implementation(const Operation& operation, const PrimitiveAttr& attr) {
    PrimitiveDesc result;
    visit_implementations(operation, attr, [&](PrimitiveDesc first) {
        result = std::move(first);
        return false;
    });
    return result;
}

dnnl_primitive_kind_t kind_of(const_dnnl_primitive_desc_t desc) {
    dnnl_primitive_kind_t kind = dnnl_undefined_primitive;
    check(dnnl_primitive_desc_query(desc, dnnl_query_primitive_kind, 0, &kind), "dnnl_query_primitive_kind");
    return kind;
}

PrimitiveDesc reorder_desc(const MemoryDesc& from, const MemoryDesc& to, const PrimitiveAttr& attr) {
    dnnl_primitive_desc_t made = nullptr;
    auto status =
        dnnl_reorder_primitive_desc_create(&made, from.get(), engine(), to.get(), engine(), attr.get());
    if (status == dnnl_out_of_memory) check(status, "dnnl_reorder_primitive_desc_create");
    return PrimitiveDesc(status == dnnl_success ? made : nullptr);
}

}  // namespace mge::onednn
