// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"
#include "libmge/ops/nn/image_order.cuda.h"

namespace mge::ops {

// The order of the images of one of the three problems; nullopt: unsupported on a GPU.
std::optional<ImageOrder> order_of_images(const Problem& problem);

// Our own convolutions on a GPU, for all shapes. They accept plain images alone, and can run on both orders.
Algorithm implicit_gemm_conv2d();
Algorithm implicit_gemm_conv2d_backward_data();
Algorithm implicit_gemm_conv2d_backward_weight();

}  // namespace mge::ops
