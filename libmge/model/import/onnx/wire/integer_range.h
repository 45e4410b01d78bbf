// SPDX-License-Identifier: Apache-2.0
#pragma once
// Range of the integers of a dtype, to the precision of a double.

#include <cmath>

#include "libmge/tensor/dtype.h"

namespace mge::onnx {

struct IntegerRange {
    double least, most;
};

inline IntegerRange integer_range(DType dtype) {
    int bits = int(8 * size_of(dtype));
    if (is_unsigned(dtype)) return {0, std::ldexp(1, bits) - 1};
    return {-std::ldexp(1, bits - 1), std::ldexp(1, bits - 1) - 1};
}

}  // namespace mge::onnx
