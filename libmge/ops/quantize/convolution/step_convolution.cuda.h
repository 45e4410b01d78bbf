// SPDX-License-Identifier: Apache-2.0
#pragma once
// Common part of the kernels of quantized_conv2d on a GPU.

#include "libmge/kernel/algorithm.h"
#include "libmge/ops/nn/convolution/geometry.h"
#include "libmge/ops/nn/image_order.cuda.h"
#include "libmge/ops/quantize/convolution/quantized_conv2d.cuda.h"

namespace mge::ops {

ConvGeometry step_geometry(const Problem& problem);
// Without addresses, which a launch has.
cuda::StepConvArguments step_arguments(const Problem& problem, ImageOrder order);
void set_addresses(cuda::StepConvArguments& arguments, const Launch& launch);

// For all shapes. It accepts plain images alone, and can run on both orders.
Algorithm implicit_gemm_quantized_conv2d();
// cuDNN's engines: "cudnn:" and the name of a configuration.
Algorithm cudnn_quantized_conv2d();

}  // namespace mge::ops
