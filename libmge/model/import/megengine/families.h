// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions for the rows of operators.cpp, by source file.

#include "libmge/model/import/megengine/operators.h"

namespace mge::megengine {

// constants.cpp
Tensors import_constants(const Site&);
size_t count_constants(const OperatorRecord&);
Tensor tensor_of(const TensorRecord& record);

// elementwise.cpp
Tensors import_elemwise(const Site&);
Tensors import_elemwise_multi_type(const Site&);
Tensors import_power(const Site&);
Tensors import_convert(const Site&);
Tensors import_where(const Site&);
Tensors import_masked_fill(const Site&);
Tensors import_same(const Site&);

// reduction.cpp
Tensors import_reduce(const Site&);
Tensors import_argmax(const Site&);
Tensors import_argmin(const Site&);
Tensors import_argsort(const Site&);
Tensors import_topk(const Site&);
size_t count_topk(const OperatorRecord&);
Tensors import_cumsum(const Site&);

// shape.cpp
Tensors import_axis_add_remove(const Site&);
Tensors import_broadcast(const Site&);
Tensors import_concat(const Site&);
Tensors import_dimshuffle(const Site&);
Tensors import_get_var_shape(const Site&);
Tensors import_padding(const Site&);
Tensors import_reshape(const Site&);
Tensors import_split(const Site&);
size_t count_split(const OperatorRecord&);
Tensors import_alloc(const Site&);
Tensors import_linspace(const Site&);
Tensors import_eye(const Site&);
Tensors import_flip(const Site&);
Tensors import_rotate(const Site&);

// indexing.cpp
Tensors import_subtensor(const Site&);
Tensors import_set_subtensor(const Site&);
Tensors import_incr_subtensor(const Site&);
Tensors import_take(const Site&);
Tensors import_set_take(const Site&);
Tensors import_incr_take(const Site&);
Tensors import_one_hot(const Site&);
Tensors import_set_one_hot(const Site&);
Tensors import_cond_take(const Site&);
Tensors import_mesh(const Site&);
Tensors import_diagonal(const Site&);

// products.cpp
Tensors import_matmul(const Site&);
Tensors import_batched_matmul(const Site&);
Tensors import_dot(const Site&);
Tensors import_matrix_inverse(const Site&);
Tensors import_svd(const Site&);

// recurrent.cpp
Tensors import_lstm(const Site&);
Tensors import_lstm_cell(const Site&);
Tensors import_rnn(const Site&);
Tensors import_rnn_cell(const Site&);

// attention.cpp
Tensors import_multi_head_attention(const Site&);

// convolution.cpp
Tensors import_convolution(const Site&);
Tensors import_conv_bias(const Site&);
Tensors import_deconvolution(const Site&);

// pictures.cpp
Tensors import_pooling(const Site&);
Tensors import_adaptive_pooling(const Site&);
Tensors import_local_response_norm(const Site&);

// blocked.cpp
Tensors import_relayout(const Site&);

// resampling.cpp
Tensors import_resize(const Site&);
Tensors import_resize3d(const Site&);

// warping.cpp
Tensors import_warp_perspective(const Site&);
Tensors import_warp_affine(const Site&);
Tensors import_remap(const Site&);

// regions.cpp
Tensors import_roi_align(const Site&);
Tensors import_roi_pooling(const Site&);
Tensors import_deformable_roi_pooling(const Site&);
Tensors import_nms_keep(const Site&);

// volumes.cpp
Tensors import_convolution3d(const Site&);
Tensors import_deconvolution3d(const Site&);

// windows.cpp
Tensors import_images_to_neighbours(const Site&);
Tensors import_sliding_window_transpose(const Site&);
Tensors import_local(const Site&);

// displaced.cpp
Tensors import_deformable_convolution(const Site&);
Tensors import_correlation(const Site&);

// colours.cpp
Tensors import_colours(const Site&);

// randomness.cpp
Tensors import_uniform(const Site&);
Tensors import_normal(const Site&);
Tensors import_dropout(const Site&);

// fake_quantisation.cpp
Tensors import_fake_quantisation(const Site&);
Tensors import_learned_steps(const Site&);
Tensors import_trained_threshold(const Site&);

// normalisation.cpp
Tensors import_batch_norm(const Site&);
size_t count_batch_norm(const OperatorRecord&);
Tensors import_layer_norm(const Site&);
Tensors import_general_norm(const Site&);
Tensors import_group_norm(const Site&);
Tensors import_instance_norm(const Site&);
Tensors import_softmax(const Site&);

// The value if it is a constant; null if it depends on inputs.
inline const Tensor* as_constant(const Tensor& t) { return t && !t.is_symbolic() ? &t : nullptr; }
// MegEngine has no rank 0: a scalar has the shape (1,).
Tensor at_least_vector(const Tensor& t);
// A shape or an index converted to i32 from any dtype.
Tensor as_index(const Tensor& t);
// The values of a constant shape or index; an error that names `what` if it is not constant.
std::vector<int64_t> constant_values(const Tensor& t, std::string_view what);
// The known rank of an input; it must not differ between runs, unlike its sizes.
int rank_of(const Tensor& t);

}  // namespace mge::megengine
