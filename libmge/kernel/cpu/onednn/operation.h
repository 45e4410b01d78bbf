// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operations that oneDNN computes here, as values: versions 2 and 3 of the library have different calls
// to describe them.

#include <array>
#include <functional>
#include <optional>
#include <variant>

#include "libmge/kernel/cpu/onednn/memory_desc.h"

namespace mge::onednn {

using Extents2d = std::array<int64_t, 2>;  // rows, columns

// x, weight and y are gradients where the direction says so.
struct ConvolutionDesc {
    dnnl_prop_kind_t direction;
    dnnl_alg_kind_t algorithm;
    MemoryDesc x, weight, bias, y;                       // bias: the default for none
    Extents2d stride, dilation, padding, padding_after;  // dilation: 0 for neighbouring taps
};
struct PoolingDesc {
    dnnl_prop_kind_t direction;
    dnnl_alg_kind_t algorithm;
    MemoryDesc x, y;
    Extents2d stride, window, padding, padding_after;
};
struct MatmulDesc {
    MemoryDesc a, b, bias, y;
};
struct BatchNormDesc {
    dnnl_prop_kind_t direction;
    MemoryDesc x;
    float epsilon;
    unsigned flags;
};
struct LayerNormDesc {
    MemoryDesc x, statistics;
    float epsilon;
    unsigned flags;
};
using Operation = std::variant<ConvolutionDesc, PoolingDesc, MatmulDesc, BatchNormDesc, LayerNormDesc>;

// Calls `take` with each implementation in oneDNN's order, until it answers false. oneDNN has none for an
// operation that it does not support.
using TakeImplementation = std::function<bool(PrimitiveDesc)>;
void visit_implementations(const Operation& operation, const PrimitiveAttr& attr,
                           const TakeImplementation& take);
// The same; `hint` is a forward primitive for a backward operation.
void visit_implementations(const Operation& operation, const PrimitiveAttr& attr,
                           const_dnnl_primitive_desc_t hint, const TakeImplementation& take);

// oneDNN's first choice; null: it does not support the operation.
PrimitiveDesc first_implementation(const Operation& operation, const PrimitiveAttr& attr);

inline bool is_forward(dnnl_prop_kind_t direction) {
    return direction == dnnl_forward_inference || direction == dnnl_forward_training;
}

// Describes a convolution, a matrix product or a layer norm; nullopt for other primitives. The memory is that
// of forward arguments, in the layouts that the primitive has.
std::optional<Operation> operation_of(const_dnnl_primitive_desc_t desc);
dnnl_primitive_kind_t kind_of(const_dnnl_primitive_desc_t desc);

inline MemoryDesc memory_of(const_dnnl_primitive_desc_t desc, int argument) {
    return MemoryDesc(dnnl_primitive_desc_query_md(desc, dnnl_query_exec_arg_md, argument));
}
// The primitive that changes layouts; null: oneDNN has none.
PrimitiveDesc reorder_desc(const MemoryDesc& from, const MemoryDesc& to, const PrimitiveAttr& attr);

// Post-operations: add the values of the destination; an activation.
struct Eltwise {
    dnnl_alg_kind_t kind;
    float alpha = 0, beta = 0;
};
void append_sum(dnnl_post_ops_t list);
void append_eltwise(dnnl_post_ops_t list, const Eltwise& eltwise);
Eltwise eltwise_at(const_dnnl_post_ops_t list, int index);

}  // namespace mge::onednn
