// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is done to the data of files before it becomes an input: the part of Python and numpy that pictures
// need, read as Python reads it.
//
//   data                               what the file holds
//   x + y, x - y, x * y, x / y, -x     numbers, and arrays that broadcast
//   np.array([103.5, 116.3, 123.7])    numbers in a row, for the channels
//   x.transpose(0, 3, 1, 2)            the axes in another order
//   x.reshape(1, 3, 1, 1)              the same numbers in another shape; -1 once
//   x[:, ::-1], x[..., [2, 1, 0]]      axes as they are, backwards, or in the order of a list
//   x.astype("float32"), np.float32(x) nothing: all are real numbers until they become the input's dtype

#include <string>

#include "libmge/tensor/tensor.h"

namespace mge::dump {

// UserError names the place in the expression and says what else there is, or that the result does not fit
// the dtype.
Tensor transformed(const Tensor& data, const std::string& expression, DType dtype);

}  // namespace mge::dump
