// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// The operands of ops::TreeEnsemble.
struct TreeArguments {
    const float* x;
    const uint8_t* questions;
    const int32_t* features;
    const float* thresholds;
    const int32_t* children;
    const uint8_t* missing;
    const int32_t *roots, *leaves;
    const float* weights;
    float* y;
    int64_t rows, columns, nodes, trees, leaf_rows, targets;
    int aggregate;
    int* fault;       // becomes 1 where something names what is not there; that part is left out
    uint8_t* is_set;  // flag of each element of y, initially 0
};
void run_trees(Stream stream, const TreeArguments& arguments);

}  // namespace mge::cuda
