// SPDX-License-Identifier: Apache-2.0
#pragma once
// Every operator, one line each. Kernel tables, Python, files, documentation and tests are derived from this
// list.

#include "libmge/op/backend.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/convert.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/reshape.h"

namespace mge {

using AllOps = TypeList<  //
    ops::Add,             //
    ops::Concat,          //
    ops::Convert,         //
    ops::Reshape>;

}  // namespace mge
