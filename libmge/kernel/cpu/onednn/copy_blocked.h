// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cpu/onednn/memory_desc.h"

namespace mge::onednn {

// A reorder between two layouts of the same f32 or i32 values, by tables instead of generated code: for what
// is moved once and is so small that the kernel would take longer to make (some 0.2 ms) than the values to
// move. Padding is cleared. False, and nothing done, where the two are more than another order.
bool copy_blocked(const MemoryDesc& from, const void* source, const MemoryDesc& to, void* target);

}  // namespace mge::onednn
