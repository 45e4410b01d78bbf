// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/activation_enum.h"
#include "libmge/kernel/cuda/types.h"

namespace mge::cuda {

// The epilogue of a library's product or convolution: y = activation(sums + bias + residual), with one value
// of the bias for `inner` elements, repeatedly. `sums` and `residual` may be y.
struct EpilogueArguments {
    const void *sums, *bias, *residual;
    void* y;
    int64_t numel, channels, inner;
    Activation activation;
};
// `type`: of floats only.
void run_epilogue(Stream stream, int type, const EpilogueArguments& arguments);

}  // namespace mge::cuda
