// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

struct MatinvArguments {
    const void* x;
    void* y;
    int64_t n, matrices;
    long long* first_singular;  // the smallest number of a matrix that has no inverse, if it is one of them
    double* rows;  // rows of [x | 1], for each block of the grid; null: they are in shared memory
    int blocks;
};
// Matrices of this side and less are inverted in shared memory.
inline constexpr int64_t largest_shared_matrix = 48;
inline int64_t matinv_bytes(int64_t n) { return 2 * n * n * int64_t(sizeof(double)); }

// `type`: of floats only.
void run_matinv(Stream stream, int type, const MatinvArguments& arguments);

}  // namespace mge::cuda
