// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cpu/onednn/memory_desc.h"

namespace mge::onednn {

// Copies values from one layout to another once, with at most `threads` threads: constants, before a run.
void reorder(const MemoryDesc& from, const void* source, const MemoryDesc& to, void* target, int threads);

}  // namespace mge::onednn
