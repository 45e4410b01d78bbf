// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// f32 by matrix instructions of bf16, as accurate as by f32 (kernel/cpu/product/split_product.h).
Algorithm split_matmul();

}  // namespace mge::ops
