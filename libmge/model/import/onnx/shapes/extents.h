// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers, shapes and helpers shared by families of operators. Values that follow from the sizes of an input
// stay computations, so that another run may have other sizes.

#include <optional>
#include <variant>
#include <vector>

#include "libmge/base/reflect.h"
#include "libmge/tensor/tensor.h"

namespace mge::onnx {

// Throws Unsupported if it is known only at run time.
int rank_of(const Tensor& t);
// The integers, or bools, of a constant.
IntList numbers_in(const Tensor& constant);
// The only number of a value; an error that names `what` otherwise.
int64_t only(const IntList& numbers, std::string_view what);
// A small constant that inner graphs have as a constant of their own.
Tensor as_literal(const Tensor& t);
// A number in the dtype of x.
Tensor number(const Tensor& like, double value);
// An i64 and an f32 of rank 0.
Tensor whole(int64_t value);
Tensor real(double value, DType dtype = DType::f32);
// A constant i64 vector.
Tensor vector_of(const IntList& values);
// Indices are i32, whatever the file has. An index out of the range of i32 becomes the nearest one, which no
// axis has.
Tensor as_index(const Tensor& t);
Tensor as_dtype(const Tensor& t, DType dtype);
Tensor as_float(const Tensor& t);
// Operators that compute in f32 keep the digits of f64.
DType wide(DType dtype);
Tensor as_wide(const Tensor& t);
// One element, without axes.
Tensor as_scalar(const Tensor& t);
IntList all_axes(int rank);

// A known number, or a computed one: i64 (1,).
using Extent = std::variant<int64_t, Tensor>;
// The sizes of x from one axis to before another, computed.
Tensor extents_of(const Tensor& x, int begin, int end);
Extent extent_of(const Tensor& x, int axis);
Tensor target_of(const std::vector<Extent>& extents);
// One of the sizes may be -1.
Tensor reshaped(const Tensor& x, const std::vector<Extent>& extents);

// x[:, …, begin:end, …] along one axis; element i of it, without the axis.
Tensor cut(const Tensor& x, int axis, int64_t begin, int64_t end);
Tensor element(const Tensor& x, int axis, int64_t i);
// With axes of size 1 at the end.
Tensor with_trailing_axes(const Tensor& x, int count);
// 0, 1, … below the size, in that dtype.
Tensor count_up(const Extent& count, DType dtype);
// Axis `from` in the place `to`, the others in their order.
Tensor moved_axis(const Tensor& x, int from, int to);

}  // namespace mge::onnx
