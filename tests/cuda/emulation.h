// SPDX-License-Identifier: Apache-2.0
#pragma once
// Functions for tests that run on the emulated GPU.

#include <cuda_runtime_api.h>
#ifdef MGE_EMULATES_CUDA
#include "tests/cuda/emulated/memory.h"
#endif

namespace mge::test {

#ifdef MGE_EMULATES_CUDA
inline constexpr bool is_emulated = true;
inline void mix_streams(unsigned seed) { cuda::emulated::mix_streams(seed); }
#else
inline constexpr bool is_emulated = false;
inline void mix_streams(unsigned) {}
#endif

// Once for each of some mixes of streams; on a GPU, which mixes them by itself, some times.
template <class Fn>
void for_each_mix(Fn test) {
    for (unsigned seed = 0; seed < (is_emulated ? 30 : 10); ++seed) {
        mix_streams(seed);
        test(seed);
    }
}

}  // namespace mge::test
