// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/expand_weight.cuda.h"

#include "libmge/kernel/cuda/launch.cuh"

namespace mge::cuda {
namespace {

__global__ void expand(ExpandArguments x) {
    for (int64_t i = first_piece(); i < x.rows * x.columns; i += piece_step()) {
        int64_t row = i;
        const int64_t column = split_index(row, x.columns);
        int64_t g = column;
        const int64_t within = split_index(g, x.group), at = row * x.groups + g;
        const uint8_t byte = x.data.steps[at * x.group_bytes + within * x.bits / 8];
        const int step = x.bits == 8 ? byte : within % 2 ? byte >> 4 : byte & 15;
        const float zero = float(x.data.zero ? x.data.zero[at] : x.middle);
        x.w[i] = (float(step) - zero) * x.data.scale[at];
    }
}

}  // namespace

void expand_weight(Stream stream, const ExpandArguments& x) {
    launch(expand, grid_for(x.rows * x.columns), block_threads, 0, stream, x);
}

}  // namespace mge::cuda
