// SPDX-License-Identifier: Apache-2.0
#pragma once
// The functions behind the rows of operators.cpp, by the file they stand in.

#include <functional>

#include "libmge/model/import/onnx/operators.h"
#include "libmge/model/import/onnx/shapes/extents.h"
#include "libmge/model/import/onnx/wire/weights.h"

namespace mge::onnx {

// constants.cpp
Tensors import_constant(const Site& site);
Tensors import_constant_of_shape(const Site& site);
// The body of a function with the attributes of its caller in the places that refer to them, and without the
// inputs that the caller leaves out.
google::protobuf::RepeatedPtrField<file::NodeProto> body_of_call(const file::FunctionProto& function,
                                                                 const file::NodeProto& caller);

// elementwise.cpp
Tensors import_div(const Site& site);
Tensors import_add(const Site& site);
Tensors import_sub(const Site& site);
Tensors import_mul(const Site& site);
Tensors import_and(const Site& site);
Tensors import_or(const Site& site);
Tensors import_xor(const Site& site);
Tensors import_equal(const Site& site);
Tensors import_less(const Site& site);
Tensors import_greater(const Site& site);
Tensors import_mod(const Site& site);
Tensors import_pow(const Site& site);
// As ONNX has them: NaN stays NaN, whichever operand it is.
Tensor rectified(const Tensor& x);
Tensor clipped(const Tensor& x, double lower, double upper);
Tensor larger(const Tensor& a, const Tensor& b);
Tensor smaller(const Tensor& a, const Tensor& b);
Tensors import_relu(const Site& site);
Tensors import_sign(const Site& site);
Tensors import_max(const Site& site);
Tensors import_min(const Site& site);
Tensors import_sum(const Site& site);
Tensors import_mean(const Site& site);
Tensors import_clip(const Site& site);
Tensors import_cast(const Site& site);
Tensors import_cast_like(const Site& site);
Tensors import_where(const Site& site);
Tensors import_is_inf(const Site& site);
Tensors import_leaky_relu(const Site& site);
Tensors import_prelu(const Site& site);
Tensors import_elu(const Site& site);
Tensors import_celu(const Site& site);
Tensors import_selu(const Site& site);
Tensors import_hard_sigmoid(const Site& site);
Tensors import_thresholded_relu(const Site& site);
Tensors import_shrink(const Site& site);
Tensors import_softsign(const Site& site);
Tensors import_mish(const Site& site);
Tensors import_swish(const Site& site);
Tensors import_swiglu(const Site& site);
Tensors import_gelu(const Site& site);
Tensor gelu_by_tanh(const Tensor& x);
Tensors import_erfc(const Site& site);
Tensors import_identity(const Site& site);
// That of the attribute `to`.
DType target_dtype(const Site& site);
// As Cast converts, by the attributes of the node.
Tensor as_cast(const Site& site, const Tensor& x, DType dtype);

// bits.cpp
Tensors import_bit_shift(const Site& site);
Tensors import_bit_cast(const Site& site);
// Both are integers; in the dtype of x.
Tensor integer_power(const Tensor& x, const Tensor& exponent);

// shape.cpp
Tensors import_shape(const Site& site);
Tensors import_size(const Site& site);
Tensors import_reshape(const Site& site);
Tensors import_flatten(const Site& site);
Tensors import_transpose(const Site& site);
Tensors import_concat(const Site& site);
Tensors import_split(const Site& site);
Tensors import_slice(const Site& site);
Tensors import_squeeze(const Site& site);
Tensors import_unsqueeze(const Site& site);
Tensors import_expand(const Site& site);
Tensors import_tile(const Site& site);
Tensors import_pad(const Site& site);
Tensors import_depth_to_space(const Site& site);
Tensors import_space_to_depth(const Site& site);

// indexing.cpp
Tensors import_gather(const Site& site);
Tensors import_gather_elements(const Site& site);
Tensors import_scatter_elements(const Site& site);
Tensors import_gather_nd(const Site& site);
Tensors import_scatter_nd(const Site& site);
Tensors import_arg_max(const Site& site);
Tensors import_arg_min(const Site& site);
Tensors import_topk(const Site& site);
Tensors import_one_hot(const Site& site);
Tensors import_non_zero(const Site& site);
Tensors import_range(const Site& site);
Tensors import_trilu(const Site& site);
Tensors import_cum_sum(const Site& site);
Tensors import_eye_like(const Site& site);
Tensors import_compress(const Site& site);
Tensors import_reverse_sequence(const Site& site);
Tensors import_cum_prod(const Site& site);
// The first elements of each sequence, as many as it has, in reverse; `batch` is the axis 0 or 1.
Tensor reversed_sequences(const Tensor& x, int batch, const Tensor& lengths);

// scattering.cpp: with the reductions mul, max and min
Tensor scattered_elements(const Site& site, int axis, const Tensor& index, const std::string& reduction);
Tensor scattered_rows(const Site& site, const Tensors& indices, const std::string& reduction);

// reduction.cpp
Tensors import_reduce_sum(const Site& site);
Tensors import_reduce_prod(const Site& site);
Tensors import_reduce_mean(const Site& site);
Tensors import_reduce_max(const Site& site);
Tensors import_reduce_min(const Site& site);
Tensors import_reduce_l1(const Site& site);
Tensors import_reduce_l2(const Site& site);
Tensors import_reduce_log_sum(const Site& site);
Tensors import_reduce_log_sum_exp(const Site& site);
Tensors import_reduce_sum_square(const Site& site);

// normalisation.cpp
Tensors import_batch_norm(const Site& site);
Tensors import_instance_norm(const Site& site);
Tensors import_group_norm(const Site& site);
Tensors import_layer_norm(const Site& site);
Tensors import_rms_norm(const Site& site);
Tensor by_root_mean_square(const Tensor& x, int first, double epsilon);
Tensors import_mean_variance_norm(const Site& site);
Tensors import_lp_norm(const Site& site);
Tensor softmax_along(const Tensor& x, int axis);
Tensor log_softmax_along(const Tensor& x, int axis);
Tensors import_softmax(const Site& site);
Tensors import_log_softmax(const Site& site);
Tensors import_hardmax(const Site& site);

// products.cpp
// So many products of bytes, and their sum, f32 holds exactly: whole numbers up to 2^24.
inline constexpr int64_t most_exact_terms = (int64_t(1) << 24) / (255 * 255);
Tensors import_matmul(const Site& site);
Tensors import_gemm(const Site& site);
Tensors import_matmul_integer(const Site& site);
Tensors import_qlinear_matmul(const Site& site);
Tensors import_det(const Site& site);

// einsum.cpp
Tensors import_einsum(const Site& site);

// convolution.cpp
Tensors import_conv(const Site& site);
Tensors import_conv_integer(const Site& site);
Tensors import_qlinear_conv(const Site& site);
Tensors import_conv_transpose(const Site& site);
Tensors import_causal_conv(const Site& site);

// pooling.cpp
Tensors import_max_pool(const Site& site);
Tensors import_average_pool(const Site& site);
Tensors import_lp_pool(const Site& site);
Tensors import_max_unpool(const Site& site);
Tensors import_global_average_pool(const Site& site);
Tensors import_global_max_pool(const Site& site);
Tensors import_global_lp_pool(const Site& site);
Tensors import_local_response_norm(const Site& site);

// resampling.cpp
Tensors import_upsample(const Site& site);
Tensors import_resize(const Site& site);

// recurrent.cpp
Tensors import_rnn(const Site& site);
Tensors import_gru(const Site& site);
Tensors import_lstm(const Site& site);

// quantised.cpp
// x / scale, halves to the even step, plus the zero point, within the bounds of the dtype.
Tensor steps_of(const Tensor& x, const Tensor& scale, const Tensor& zero, DType dtype);
Tensors import_quantize_linear(const Site& site);
Tensors import_dequantize_linear(const Site& site);
Tensors import_dynamic_quantize_linear(const Site& site);

// losses.cpp
Tensors import_negative_log_likelihood(const Site& site);
Tensors import_softmax_cross_entropy(const Site& site);

// branches.cpp
Tensors import_if(const Site& site);

// loops.cpp
Tensors import_loop(const Site& site);
Tensors import_scan(const Site& site);

// attention.cpp
// (batch, length, heads · width), or already so, as (batch, heads, length, width); and back.
Tensor heads_apart(const Site& site, const Tensor& x, int64_t heads);
Tensor side_by_side(const Tensor& x);
Tensors import_attention(const Site& site);
Tensors import_flex_attention(const Site& site);
Tensors import_rotary_embedding(const Site& site);
Tensors import_tensor_scatter(const Site& site);

// linear_attention.cpp
Tensors import_linear_attention(const Site& site);

// ngrams.cpp
Tensors import_tf_idf_vectorizer(const Site& site);

// warping.cpp
Tensors import_grid_sample(const Site& site);

// regions.cpp
Tensors import_center_crop_pad(const Site& site);
Tensors import_col2im(const Site& site);
Tensors import_affine_grid(const Site& site);
Tensors import_max_roi_pool(const Site& site);
Tensors import_roi_align(const Site& site);
Tensors import_deform_conv(const Site& site);

// signal.cpp
Tensors import_dft(const Site& site);
Tensors import_stft(const Site& site);
Tensors import_hann_window(const Site& site);
Tensors import_hamming_window(const Site& site);
Tensors import_blackman_window(const Site& site);
Tensors import_mel_weight_matrix(const Site& site);

// training.cpp
Tensors import_adagrad(const Site& site);
Tensors import_adam(const Site& site);
Tensors import_momentum(const Site& site);

// compressed.cpp
Tensors import_matmul_nbits(const Site& site);

// runtime_attention.cpp
Tensors import_runtime_attention(const Site& site);
Tensors import_multi_head_attention(const Site& site);
Tensors import_embed_layer_norm(const Site& site);

// runtime_operators.cpp
// The real numbers that steps with one scale stand for; the zero point may be absent.
Tensor real_numbers(const Site& site, size_t steps, size_t scale, size_t zero);
// Those of the first input, and steps of a result in the scale and zero point behind.
Tensor real_of_one(const Site& site);
Tensor steps_of_one(const Site& site, const Tensor& y);
Tensors import_bias_gelu(const Site& site);
Tensors import_fast_gelu(const Site& site);
Tensors import_fused_gemm(const Site& site);
Tensors import_skip_rms_norm(const Site& site);
Tensors import_quantised_concat(const Site& site);
Tensors import_quantised_leaky_relu(const Site& site);
Tensors import_quantised_mul(const Site& site);
Tensors import_quantised_sigmoid(const Site& site);
Tensors import_fused_conv(const Site& site);
Tensors import_fused_matmul(const Site& site);
Tensors import_quick_gelu(const Site& site);
Tensors import_skip_layer_norm(const Site& site);
Tensors import_quantised_gemm(const Site& site);
Tensors import_quantised_add(const Site& site);
Tensors import_quantised_average(const Site& site);

// runtime_steps.cpp
Tensors import_quantised_attention(const Site& site);
Tensors import_quantised_average_pool(const Site& site);
Tensors import_quantised_embed_layer_norm(const Site& site);
Tensors import_quantised_lstm(const Site& site);
Tensors import_quantised_mean(const Site& site);
Tensors import_quantised_softmax(const Site& site);
Tensors import_quantised_where(const Site& site);
Tensors import_product_of_integers(const Site& site);
Tensors import_product_with_integers(const Site& site);

// selection.cpp
Tensors import_non_max_suppression(const Site& site);
Tensors import_unique(const Site& site);

// random.cpp
Tensors import_random_uniform(const Site& site);
Tensors import_random_uniform_like(const Site& site);
Tensors import_random_normal(const Site& site);
Tensors import_random_normal_like(const Site& site);
Tensors import_bernoulli(const Site& site);
Tensors import_multinomial(const Site& site);
Tensors import_dropout(const Site& site);

// sequences.cpp
Tensors import_sequence_empty(const Site& site);
Tensors import_sequence_construct(const Site& site);
Tensors import_sequence_at(const Site& site);
Tensors import_sequence_length(const Site& site);
Tensors import_sequence_insert(const Site& site);
Tensors import_sequence_erase(const Site& site);
Tensors import_split_to_sequence(const Site& site);
Tensors import_concat_from_sequence(const Site& site);
Tensors import_sequence_map(const Site& site);
Tensors import_optional(const Site& site);
Tensors import_optional_has_element(const Site& site);
Tensors import_optional_get_element(const Site& site);

// learned.cpp
Tensors import_array_feature_extractor(const Site& site);
Tensors import_binarizer(const Site& site);
Tensors import_feature_vectorizer(const Site& site);
Tensors import_imputer(const Site& site);
Tensors import_label_encoder(const Site& site);
Tensors import_linear_classifier(const Site& site);
Tensors import_linear_regressor(const Site& site);
Tensors import_normalizer(const Site& site);
Tensors import_one_hot_encoder(const Site& site);
Tensors import_scaler(const Site& site);
Tensors import_zip_map(const Site& site);

// support_vectors.cpp
Tensors import_svm_classifier(const Site& site);
Tensors import_svm_regressor(const Site& site);

// trees.cpp
Tensors import_tree_ensemble(const Site& site);
Tensors import_tree_ensemble_classifier(const Site& site);
Tensors import_tree_ensemble_regressor(const Site& site);

}  // namespace mge::onnx
