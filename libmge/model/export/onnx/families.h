// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions behind the rows of operators.cpp, by the file they stand in.

#include "libmge/kernel/activation.h"
#include "libmge/model/export/onnx/operators.h"

namespace mge::to_onnx {

// elementwise.cpp
Operands export_same(Site&);      // the node of the row's type on all inputs
Operands export_rounding(Site&);  // the same for real numbers; whole ones are it already
Operands export_bitwise(Site&);
Operands export_bit_cast(Site&);
Operands export_identity(Site&);
Operands export_convert(Site&);
Operands export_convert_narrow(Site&);
Operand clipped(Site&, const Operand& x, DType dtype, const Operand& lower, const Operand& upper);
Operands export_clip(Site&);
Operands export_extreme(Site&);
Operands export_pow(Site&);
Operands export_comparison(Site&);
Operands export_not_equal(Site&);
Operands export_float_test(Site&);
Operands export_floor_div(Site&);
Operands export_mod(Site&);
Operands export_shift(Site&);
Operands export_round(Site&);
Operands export_rsqrt(Site&);
Operands export_square(Site&);
Operands export_expm1(Site&);
Operands export_log1p(Site&);
Operands export_logaddexp(Site&);
Operands export_atan2(Site&);

// activation.cpp
Operand activated(Site&, Activation, const Operand& x, DType dtype);
Operands export_gelu(Site&);
Operands export_hsigmoid(Site&);
Operands export_hswish(Site&);
Operands export_leaky_relu(Site&);
Operands export_logsigmoid(Site&);
Operands export_prelu(Site&);
Operands export_relu(Site&);
Operands export_relu6(Site&);
Operands export_silu(Site&);
Operands export_softmax(Site&);

// reduction.cpp
Operands export_reduce(Site&);
Operands export_mean(Site&);
Operands export_arg(Site&);
Operands export_cumsum(Site&);
Operands export_reduce_to_shape(Site&);
Operand reduced(Site&, const std::string& type, const Operand& x, const IntList& axes, bool keepdims);

// shape.cpp
Operands export_broadcast_to(Site&);
Operands export_broadcast_like(Site&);
Operands export_concat(Site&);
Operands export_flip(Site&);
Operands export_pad(Site&);
Operands export_reshape(Site&);
Operands export_reshape_like(Site&);
Operands export_flatten(Site&);
Operands export_add_axis(Site&);
Operands export_remove_axis(Site&);
Operands export_shape_of(Site&);
Operands export_split(Site&);
Operands export_transpose(Site&);

// slicing.cpp
Operands export_slice(Site&);
Operands export_set_slice(Site&);
Operands export_add_slice(Site&);

// indexing.cpp
Operands export_take(Site&);
Operands export_set_take(Site&);
Operands export_add_take(Site&);
Operands export_embedding(Site&);
Operands export_gather(Site&);
Operands export_scatter(Site&);
Operands export_scatter_add(Site&);
Operands export_one_hot(Site&);
Operands export_indexing_one_hot(Site&);
Operands export_indexing_set_one_hot(Site&);
Operands export_cond_take(Site&);
Operands export_sort(Site&);
Operands export_topk(Site&);
Operands export_unique(Site&);

// creation.cpp
Operands export_arange(Site&);
Operands export_linspace(Site&);
Operands export_eye(Site&);
Operands export_full(Site&);
Operands export_full_like(Site&);

// products.cpp
Operands export_matmul(Site&);
Operands export_conv2d(Site&);
Operands export_conv2d_backward_data(Site&);
// A weight of groups (G, OC/G, C/G, kh, kw) as ONNX has it: (OC, C/G, kh, kw); others stay.
Operand conv_weight(Site&, size_t input);

// attention.cpp
Operands export_attention(Site&);

// normalisation.cpp
Operands export_batch_norm(Site&);
Operands export_layer_norm(Site&);
Operands export_group_norm(Site&);
Operands export_dropout(Site&);

// images.cpp
Operands export_max_pool2d(Site&);
Operands export_avg_pool2d(Site&);
Operands export_adaptive_pool2d(Site&);
Operands export_nms(Site&);
Operands export_class_nms(Site&);
Operands export_preprocess(Site&);
Operands export_remap(Site&);
Operands export_roi_pool2d(Site&);

// quantised.cpp
Operands export_quantize(Site&);
Operands export_dequantize(Site&);
Operands export_fake_quantize(Site&);
Operands export_map_bytes(Site&);
Operands export_quantized_add(Site&);
Operands export_quantized_conv2d(Site&);

// compressed.cpp
Operands export_compressed_matmul(Site&);
Operands export_expand_weight(Site&);

// trees.cpp
Operands export_tree_ensemble(Site&);

// control.cpp
Operands export_cond(Site&);
Operands export_while_loop(Site&);
Operands export_scan(Site&);

}  // namespace mge::to_onnx
