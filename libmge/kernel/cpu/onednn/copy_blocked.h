// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cpu/onednn/memory_desc.h"

namespace mge::onednn {

// A reorder between two layouts of the same f32, i32 or bf16 values, by tables instead of generated code: for
// values that are moved once and are so small that generating the kernel (some 0.2 ms) would take longer than
// moving them. Padding is cleared. Returns false, without an effect, if the two differ in more than the
// order.
bool copy_blocked(const MemoryDesc& from, const void* source, const MemoryDesc& to, void* target);

}  // namespace mge::onednn
