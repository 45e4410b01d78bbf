// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many elements a thread loads or stores at once.

#include "libmge/kernel/cuda/grid.cuh"

namespace mge::cuda {

// 16 bytes, the most there is in one instruction.
template <class T>
inline constexpr int pack_size = 16 / sizeof(T);

inline bool is_aligned(const void* address) { return reinterpret_cast<uintptr_t>(address) % 16 == 0; }

}  // namespace mge::cuda
