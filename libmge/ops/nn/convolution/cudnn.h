// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// cuDNN's engines with their knobs: "cudnn:" and the name of a configuration
// (kernel/cuda/cudnn/cudnn_graph.h), or "cudnn_fused:" where it adds the bias and activates too.
Algorithm cudnn_conv2d();
Algorithm cudnn_conv2d_backward_data();
Algorithm cudnn_conv2d_backward_weight();

}  // namespace mge::ops
