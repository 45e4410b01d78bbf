// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

struct SvdArguments {
    const void* x;
    void *u, *s, *v;
    int64_t matrices, rows, columns;
    int64_t shorter, longer;  // number of rows and columns
    int blocks;
    double* memory;   // memory of each block: the vectors, their rotations, one vector, and the lengths with
    int64_t numbers;  // their ranks; so many numbers
};

// `type`: of floats only.
void run_svd(Stream stream, int type, const SvdArguments& arguments);

}  // namespace mge::cuda
