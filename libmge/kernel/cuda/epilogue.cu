// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/epilogue.h"

#include "libmge/kernel/cuda/activation.cuh"
#include "libmge/kernel/cuda/launch.cuh"

namespace mge::cuda {
namespace {

template <class T>
__global__ void finish(EpilogueArguments x) {
    auto *sums = static_cast<const T*>(x.sums), *bias = static_cast<const T*>(x.bias);
    auto* residual = static_cast<const T*>(x.residual);
    for (int64_t i = first_piece(); i < x.numel; i += piece_step()) {
        float sum = widen(sums[i]);
        if (bias) sum += widen(bias[i / x.inner % x.channels]);
        if (residual) sum += widen(residual[i]);
        static_cast<T*>(x.y)[i] = from_float<T>(activated(x.activation, sum));
    }
}

}  // namespace

template <class T>
void run_epilogue(Stream stream, const EpilogueArguments& x) {
    launch(finish<T>, grid_for(x.numel), block_threads, 0, stream, x);
}
template void run_epilogue<f16>(Stream, const EpilogueArguments&);
template void run_epilogue<bf16>(Stream, const EpilogueArguments&);
template void run_epilogue<float>(Stream, const EpilogueArguments&);

}  // namespace mge::cuda
