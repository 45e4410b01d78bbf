// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reductions on the CPU. Neighbouring axes of one kind (kept or reduced) are merged; groups of reduced axes
// are then folded one after the other, the innermost first, each as (outer, length, inner) with inner kept.
// Long foldings are divided into pieces of fixed length, whose results are combined in order: the bits do not
// depend on the number of threads. Sums and products of floats use short runs in f32, combined in f64.

#include <array>
#include <cstdint>
#include <vector>

#include "libmge/kernel/algorithm.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/reduce/reduce_vectors.h"

namespace mge::cpu {

struct ReducePass {
    int64_t outer = 1, length = 1, inner = 1;
};
std::vector<ReducePass> plan_reduction(const Shape& x, const std::array<bool, max_rank>& reduced);

// `is_mean`: a sum that is divided by the number of elements.
Prepared prepare_reduction(const Problem& problem, const std::array<bool, max_rank>& reduced,
                           Reduction reduction, bool is_mean);
void run_reduction(const Prepared& prepared, const Launch& launch);

// For elements that are not in memory: `read` provides elements [begin, begin + n) of the row-major tensor to
// reduce, n at most longest_read, in memory private to part `part` of the threads. Nothing is requested
// twice. `cost` of an element, in additions, determines how many are worth a second thread.
inline constexpr int64_t longest_read = 4096;
struct ElementReader {
    const void* source = nullptr;
    const void* (*read)(const void* source, int part, int64_t begin, int64_t n) = nullptr;
    int64_t cost = 1;
};
// The same bits as when the elements lay in memory. The launch's inputs are not looked at.
void run_reduction(const Prepared& prepared, const Launch& launch, const ElementReader& elements);

// Element by element, sums and products of floats in double.
Prepared prepare_reference_reduction(const Problem& problem, const std::array<bool, max_rank>& reduced,
                                     Reduction reduction, bool is_mean);
void run_reference_reduction(const Prepared& prepared, const Launch& launch);

}  // namespace mge::cpu
