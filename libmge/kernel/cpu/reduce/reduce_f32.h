// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace mge::cpu {

enum class Reduction : uint8_t { sum, prod, max, min };

// The two vectorised bricks of reductions over f32. max and min give NaN where one value is NaN.
struct ReduceF32 {
    float (*run)(const float* x, int64_t n);  // all of a run (n > 0) into one
    // total[i] = total[i] ∘ x[0][i] ∘ x[1][i] …: contiguous rows of n
    void (*accumulate)(float* total, const float* x, int64_t rows, int64_t n);
};
ReduceF32 reduce_f32(Reduction reduction);

}  // namespace mge::cpu
