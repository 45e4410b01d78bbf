// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// Rows times a constant matrix, which is packed ahead (kernel/cpu/product/packed_product.h).
Algorithm packed_matmul();

}  // namespace mge::ops
