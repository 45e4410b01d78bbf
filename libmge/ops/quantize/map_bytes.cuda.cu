// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/map_bytes.cuda.h"

#include "libmge/kernel/cuda/launch.cuh"

namespace mge::cuda {
namespace {

__global__ void look_up(const uint8_t* x, const uint8_t* table, uint8_t* y, int64_t numel) {
    for (int64_t i = first_piece(); i < numel; i += piece_step()) y[i] = table[x[i]];
}

}  // namespace

void map_bytes(Stream stream, const uint8_t* x, const uint8_t* table, uint8_t* y, int64_t numel) {
    launch(look_up, grid_for(numel), block_threads, 0, stream, x, table, y, numel);
}

}  // namespace mge::cuda
