// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/highway_targets.h"

#include "hwy/detect_targets.h"

namespace mge::cpu {

// Its SVE targets are not compiled (libmge/CMakeLists.txt).
int64_t find_highway_targets() { return HWY_SCALAR | HWY_EMU128 | HWY_NEON; }

}  // namespace mge::cpu
