// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// The gradient of batch normalisation where neighbouring elements are channels (channels last, whole blocks
// of channels), in f32 and bf16.
Algorithm batch_norm_backward_by_channels();

}  // namespace mge::ops
