// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// One row times a constant matrix that fits a cache: linear layers of one item, steps of recurrences.
Algorithm row_matmul();

}  // namespace mge::ops
