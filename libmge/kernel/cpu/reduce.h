// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reductions on the CPU. Neighbouring axes of one kind (kept or reduced) are one; groups of reduced axes are
// then folded one after the other, the innermost first, each as (outer, length, inner) with inner kept. Long
// foldings are cut into pieces of fixed length, whose results are joined in order: the bits do not depend on
// the number of threads. Sums and products of floats go through short runs in f32 and join in f64.

#include <array>
#include <cstdint>
#include <vector>

#include "libmge/kernel/algorithm.h"
#include "libmge/kernel/cpu/reduce_f32.h"

namespace mge::cpu {

struct ReducePass {
    int64_t outer = 1, length = 1, inner = 1;
};
std::vector<ReducePass> plan_reduction(const Shape& x, const std::array<bool, max_rank>& reduced);

// `is_mean`: a sum that is divided by the number of elements.
Prepared prepare_reduction(const Problem& problem, const std::array<bool, max_rank>& reduced,
                           Reduction reduction, bool is_mean);
void run_reduction(const Prepared& prepared, const Launch& launch);

// Element by element, sums and products of floats in double.
Prepared prepare_reference_reduction(const Problem& problem, const std::array<bool, max_rank>& reduced,
                                     Reduction reduction, bool is_mean);
void run_reference_reduction(const Prepared& prepared, const Launch& launch);

}  // namespace mge::cpu
