// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parts of rules that several files share, by the file that defines them.

#include <functional>

#include "libmge/model/import/onnx/operators.h"
#include "libmge/model/import/onnx/shapes/extents.h"
#include "libmge/model/import/onnx/wire/weights.h"
#include "libmge/ops/reduce/reduce.h"

namespace mge::onnx {

// Rules of operators that are one of ours, without attributes.
template <const auto& f>
Tensors one(const Site& site) {
    if (site.opset < 6) site.attributes.integers("consumed_inputs");
    return {f(site.in(0))};
}
template <const auto& f>
Tensors of_two(const Site& site) {
    return {f(site.in(0), site.in(1))};
}

// constants.cpp
Tensor dense_of(Importer& importer, const file::SparseTensorProto& sparse);
// The body of a function with the attributes of its caller in the places that refer to them, and without the
// inputs that the caller leaves out.
google::protobuf::RepeatedPtrField<file::NodeProto> body_of_call(const file::FunctionProto& function,
                                                                 const file::NodeProto& caller);

// elementwise.cpp
// As ONNX has them: NaN stays NaN, whichever operand it is.
Tensor rectified(const Tensor& x);
Tensor clipped(const Tensor& x, double lower, double upper);
Tensor larger(const Tensor& a, const Tensor& b);
Tensor smaller(const Tensor& a, const Tensor& b);
Tensor gelu_by_tanh(const Tensor& x);
// The dtype of the attribute `to`.
DType target_dtype(const Site& site);
// Converts like Cast, with the attributes of the node.
Tensor as_cast(const Site& site, const Tensor& x, DType dtype);

// bits.cpp
// Both are integers; in the dtype of x.
Tensor integer_power(const Tensor& x, const Tensor& exponent);

// indexing.cpp
// The first elements of each sequence, as many as it has, in reverse; `batch` is the axis 0 or 1.
Tensor reversed_sequences(const Tensor& x, int batch, const Tensor& lengths);

// scattering.cpp: with the reductions mul, max and min
Tensor scattered_elements(const Site& site, int axis, const Tensor& index, const std::string& reduction);
Tensor scattered_rows(const Site& site, const Tensors& indices, const std::string& reduction);

// normalisation.cpp
Tensor by_root_mean_square(const Tensor& x, int first, double epsilon);
Tensor softmax_along(const Tensor& x, int axis);
Tensor log_softmax_along(const Tensor& x, int axis);
Tensors import_softmax(const Site& site);

// products.cpp: the number of products of bytes whose sum is exact in f32: integers up to 2^24.
inline constexpr int64_t most_exact_terms = (int64_t(1) << 24) / (255 * 255);
Tensors import_gemm(const Site& site);

// convolution.cpp
Tensors import_conv(const Site& site);

// pooling.cpp
Tensors import_average_pool(const Site& site);

// recurrent.cpp
Tensors import_lstm(const Site& site);

// reduction.cpp
// Each of the axes that may be empty in a run gets an element, which loses against any other.
Tensor with_loser(const Tensor& x, const IntList& axes, double loser);
// Axes that are empty in a run give the least, or the largest, number of the dtype.
Tensor largest_along(const Tensor& x, const ops::ReduceParams& p);
Tensor smallest_along(const Tensor& x, const ops::ReduceParams& p);

// quantised.cpp
// x / scale, halves to the even step, plus the zero point, within the bounds of the dtype.
Tensor steps_of(const Tensor& x, const Tensor& scale, const Tensor& zero, DType dtype);
Tensors import_dynamic_quantize_linear(const Site& site);

// attention.cpp
// (batch, length, heads · width), or already so, as (batch, heads, length, width); and back.
Tensor with_split_heads(const Tensor& x, int64_t heads);
Tensor side_by_side(const Tensor& x);

// runtime_attention.cpp
Tensors import_runtime_attention(const Site& site);
Tensors import_embed_layer_norm(const Site& site);

// runtime_operators.cpp: the real numbers of steps with one scale; the zero point may be absent.
Tensor real_numbers(const Site& site, size_t steps, size_t scale, size_t zero);
// Real numbers of the first input, and a result as steps with the scale and zero point after it.
Tensor real_of_one(const Site& site);
Tensor steps_of_one(const Site& site, const Tensor& y);

}  // namespace mge::onnx
