// SPDX-License-Identifier: Apache-2.0
#pragma once
// Quantised values: integers in files, which scales and zero points map to real numbers. They run as
// integers, with the operators of ops/quantize.

#include "libmge/model/import/megengine/operators.h"

namespace mge::megengine {

// Whether a dtype is read as integers.
bool is_quantised(const FileDType& dtype);

// Whether an operator takes or makes quantised values, which import_quantised then translates.
bool touches_quantised(const Site& site);
Tensors import_quantised(const Site& site);

}  // namespace mge::megengine
