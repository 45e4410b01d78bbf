// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// oneDNN's layer normalisations. f32.
Algorithm onednn_layer_norm();

}  // namespace mge::ops
