// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

Algorithm onednn_reorder();

}  // namespace mge::ops
