// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// Products of any matrices of f32, which are packed in each run: for builds without oneDNN.
Algorithm packing_matmul();

}  // namespace mge::ops
