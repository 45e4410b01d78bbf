// SPDX-License-Identifier: Apache-2.0
#pragma once
// Quantised values: integers as files hold them, which scales and zero points make real numbers of. They run
// as integers, by the operators of ops/quantize.

#include "libmge/model/import/megengine/operators.h"

namespace mge::megengine {

// Of a dtype that is read as integers.
bool is_quantised(const FileDType& dtype);

// Whether an operator takes or makes quantised values, which import_quantised then translates.
bool touches_quantised(const Site& site);
Tensors import_quantised(const Site& site);

}  // namespace mge::megengine
