// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers, shapes and pieces of tensors that families of operators share. What follows from the extents of an
// input stays a computation, so that another run may have other ones.

#include <optional>
#include <variant>
#include <vector>

#include "libmge/base/reflect.h"
#include "libmge/tensor/tensor.h"

namespace mge::onnx {

// Throws Unsupported when only a run can tell it.
int rank_of(const Tensor& t);
std::optional<int> find_rank(const Tensor& t);
// That of every run; nullopt: there is none.
std::optional<int64_t> fixed_extent(const Tensor& t, int axis);
// The whole numbers, or truth values, of a constant.
IntList numbers_in(const Tensor& constant);
// That of a value that is one number; `what` is said otherwise.
int64_t only(const IntList& numbers, std::string_view what);
// A small constant that inner graphs have as a constant of their own.
Tensor as_literal(const Tensor& t);
// A number in the dtype of x.
Tensor number(const Tensor& like, double value);
// An i64 and an f32 of rank 0.
Tensor whole(int64_t value);
Tensor real(double value);
// A constant i64 vector.
Tensor vector_of(const IntList& values);
// Indices are i32, whatever the file has. An index that no i32 holds becomes the nearest one, which no axis
// has.
Tensor as_index(const Tensor& t);
Tensor as_dtype(const Tensor& t, DType dtype);
Tensor as_float(const Tensor& t);
// Of one element, without axes.
Tensor as_scalar(const Tensor& t);
IntList all_axes(int rank);

// A number that is known, or computed: i64 (1,).
using Extent = std::variant<int64_t, Tensor>;
// The extents of x from one axis to before another, computed.
Tensor extents_of(const Tensor& x, int begin, int end);
Extent extent_of(const Tensor& x, int axis);
Tensor target_of(const std::vector<Extent>& extents);
// One of the extents may be -1.
Tensor reshaped(const Tensor& x, const std::vector<Extent>& extents);

// x[:, …, begin:end, …] along one axis; element i of it, without the axis.
Tensor cut(const Tensor& x, int axis, int64_t begin, int64_t end);
Tensor element(const Tensor& x, int axis, int64_t i);
// With axes of extent 1 behind it.
Tensor with_trailing_axes(const Tensor& x, int count);
// 0, 1, … up to the extent, in that dtype.
Tensor count_up(const Extent& count, DType dtype);
// Axis `from` in the place `to`, the others in their order.
Tensor moved_axis(const Tensor& x, int from, int to);

}  // namespace mge::onnx
