// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// Long sums of outer products, a transposed and b not: the gradient of a weight
// (kernel/cpu/product/outer_product.h).
Algorithm outer_matmul();

}  // namespace mge::ops
