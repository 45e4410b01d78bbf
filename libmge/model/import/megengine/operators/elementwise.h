// SPDX-License-Identifier: Apache-2.0
#pragma once
// The parts of elementwise operators that quantised ones have too.

#include "libmge/tensor/tensor.h"

namespace mge::megengine {

// Whether a mode of Elemwise means the same for steps of one scale as for numbers: it commutes with factors.
bool works_on_steps(uint32_t mode);
// A mode of ElemwiseMultiType over real numbers.
Tensor apply_quantised_mode(uint32_t mode, const Tensors& inputs);

}  // namespace mge::megengine
