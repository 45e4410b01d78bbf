// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/cuda/activation.h"
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// What a library's product or convolution leaves to us: y = activation(sums + bias + residual), one value of
// the bias for `inner` elements, over and over. `sums` and `residual` may be y.
struct EpilogueArguments {
    const void *sums, *bias, *residual;
    void* y;
    int64_t numel, channels, inner;
    Activation activation;
};
// For f16, bf16 and float.
template <class T>
void run_epilogue(Stream stream, const EpilogueArguments& arguments);

}  // namespace mge::cuda
