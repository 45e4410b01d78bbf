// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

struct DrawArguments {
    const int32_t* state;
    unsigned random_stream;
    const void* weights;
    int32_t* y;
    int64_t rows, categories, draws;
    bool replacement;
    int blocks;
    int* fault;       // becomes 1 where the weights of a row are those of no distribution
    double* numbers;  // for each block: one per category
};

// `type`: of floats only.
void draw_categories(Stream stream, int type, const DrawArguments& arguments);

}  // namespace mge::cuda
