// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums to which many threads add concurrently, bit-identical in any order: multiples of a step in 64 bits,
// where the step is as small as the largest term and the number of terms allow.

#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

struct FixedSums {
    // In workspace initialised to zero.
    unsigned long long* sums;
    unsigned* largest;  // the bits of the largest term; its sign is left out
    int64_t n;
    int bits;  // bits of the largest term in steps

    static size_t workspace(int64_t n) { return size_t(n + 1) * 8; }
    // `terms`: how many there may be of one sum.
    static FixedSums in(void* workspace, int64_t n, int64_t terms) {
        auto* sums = static_cast<unsigned long long*>(workspace);
        int bits = 61;
        for (int64_t rest = terms; rest > 1; rest = (rest + 1) / 2) --bits;
        return {sums, reinterpret_cast<unsigned*>(sums + n), n, bits < 50 ? bits : 50};
    }
};

}  // namespace mge::cuda
