// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/one_hot.cuda.h"

#include "libmge/kernel/cuda/index_check.cuh"
#include "libmge/kernel/cuda/launch.cuh"

namespace mge::cuda {
namespace {

__global__ void mark(const int32_t* index, int64_t count, IndexCheck check, int32_t* y) {
    for (int64_t i = first_piece(), n = count * check.extent; i < n; i += piece_step()) {
        int64_t at = i, number = split_index(at, check.extent);
        y[i] = checked_place(index[at], check) == number;
    }
}

}  // namespace

void mark_classes(Stream stream, const int32_t* index, int64_t count, const IndexCheck& check, int32_t* y) {
    launch(mark, grid_for(count * check.extent), block_threads, 0, stream, index, count, check, y);
}

}  // namespace mge::cuda
