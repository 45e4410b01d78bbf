// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// Our own convolutions on a GPU, for all shapes.
Algorithm implicit_gemm_conv2d();
Algorithm implicit_gemm_conv2d_backward_data();
Algorithm implicit_gemm_conv2d_backward_weight();

}  // namespace mge::ops
