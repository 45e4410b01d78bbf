// SPDX-License-Identifier: Apache-2.0
#pragma once
// Quantised values. One is kept as f32 steps, whole numbers that its scale makes real numbers of: what the
// file stores, less the zero point. Sums of products of steps are exact in f32 below 2^24, and so are then
// the results, which MegEngine computes in integers.

#include "libmge/model/import/megengine/operators.h"

namespace mge::megengine {

// Of a dtype that is kept as steps.
bool is_quantised(const FileDType& dtype);

// Whether an operator takes or makes quantised values, which import_quantised then translates.
bool touches_quantised(const Site& site);
Tensors import_quantised(const Site& site);

// The numbers as MegEngine stores them.
Tensor stored_numbers(const Tensor& steps, const FileDType& dtype);

}  // namespace mge::megengine
