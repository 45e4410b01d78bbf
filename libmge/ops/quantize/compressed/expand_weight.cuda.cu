// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/compressed/expand_weight.cuda.h"

#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/ops/quantize/compressed/compressed_step.cuda.cuh"

namespace mge::cuda {
namespace {

__global__ void expand(ExpandArguments x) {
    for (int64_t i = first_piece(); i < x.rows * x.columns; i += piece_step()) {
        int64_t row = i;
        const int64_t column = split_index(row, x.columns);
        x.w[i] = compressed_weight_at(x, row, compressed_column(x, column));
    }
}

}  // namespace

void expand_weight(Stream stream, const ExpandArguments& x) {
    launch(expand, grid_for(x.rows * x.columns), block_threads, 0, stream, x);
}

}  // namespace mge::cuda
