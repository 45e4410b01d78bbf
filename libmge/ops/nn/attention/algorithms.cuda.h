// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// Our own kernels, which compute everything.
Algorithm tiled_attention();
Algorithm tiled_attention_backward();
// cuDNN's engines with their knobs: "cudnn:" and the name of a configuration
// (kernel/cuda/cudnn/cudnn_graph.h).
Algorithm cudnn_attention();
Algorithm cudnn_attention_backward();

}  // namespace mge::ops
