// SPDX-License-Identifier: Apache-2.0
#pragma once
// Transforms file data before it becomes an input, with the subset of Python and NumPy that images need:
//
//   data                               the content of the file
//   x + y, x - y, x * y, x / y, -x     numbers, and arrays that broadcast
//   np.array([103.5, 116.3, 123.7])    a vector, for the channels
//   x.transpose(0, 3, 1, 2)            permuted axes
//   x.reshape(1, 3, 1, 1)              another shape; one extent may be -1
//   x[:, ::-1], x[..., [2, 1, 0]]      axes unchanged, reversed, or in the order of a list
//   x.astype("float32"), np.float32(x) no effect: values are real until converted to the input's dtype

#include <string>

#include "libmge/tensor/tensor.h"

namespace mge::dump {

// Throws UserError with the position in the expression and the supported syntax, or if the result does not
// fit the dtype.
Tensor transformed(const Tensor& data, const std::string& expression, DType dtype);

}  // namespace mge::dump
