// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// x seen as (outer, n, inner), the softmax along n.
struct SoftmaxArguments {
    int64_t outer, n, inner;
    bool is_log;
};

// `type`: of floats only.
void softmax(Stream stream, int type, const SoftmaxArguments& arguments, const void* x, void* y);

}  // namespace mge::cuda
