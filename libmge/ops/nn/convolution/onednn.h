// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// oneDNN's convolutions: every implementation it has for the layouts of the Problem, Winograd included; for
// plain layouts also those for channel blocks, with reorders around them. f32 and, where
// oneDNN has it, bf16.
Algorithm onednn_conv2d();
Algorithm onednn_conv2d_backward_data();
Algorithm onednn_conv2d_backward_weight();

}  // namespace mge::ops
