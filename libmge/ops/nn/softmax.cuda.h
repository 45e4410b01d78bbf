// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// x seen as (outer, n, inner), the softmax along n.
struct SoftmaxArguments {
    int64_t outer, n, inner;
    bool is_log;
};

// For f16, bf16 and float.
template <class T>
void softmax(Stream stream, const SoftmaxArguments& arguments, const T* x, T* y);

}  // namespace mge::cuda
