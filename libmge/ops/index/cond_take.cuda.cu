// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/cond_take.cuda.h"

#include "libmge/kernel/cuda/add_up.h"
#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/kernel/cuda/scan.cuh"
#include "libmge/ops/index/rows_at_places.cuda.cuh"

namespace mge::cuda {
namespace {

constexpr int rounds = 16, part = rounds * block_threads;  // of a block, which takes an element per thread

__global__ void count_parts(const bool* mask, int64_t n, int64_t* counts) {
    int count = 0;
    for (int round = 0; round < rounds; ++round) {
        int64_t i = int64_t(blockIdx.x) * part + round * block_threads + threadIdx.x;
        if (i < n) count += mask[i];
    }
    int total = scan_block(count).total;
    if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

template <class Unit>
__global__ void take_units(const bool* mask, int64_t n, const int64_t* before, const Unit* x, Unit* values,
                           int32_t* indices) {
    int64_t to = before[blockIdx.x];
    for (int round = 0; round < rounds; ++round) {
        int64_t i = int64_t(blockIdx.x) * part + round * block_threads + threadIdx.x;
        bool holds = i < n && mask[i];
        auto scanned = scan_block(int(holds));
        if (holds) {
            values[to + scanned.before] = x[i];
            indices[to + scanned.before] = int32_t(i);
        }
        to += scanned.total;
    }
}

}  // namespace

int64_t mask_parts(int64_t n) { return (n + part - 1) / part; }

void count_held(Stream stream, const bool* mask, int64_t n, int64_t* before) {
    int64_t parts = mask_parts(n);
    launch(count_parts, unsigned(parts), block_threads, 0, stream, mask, n, before);
    add_up(stream, parts, before);
}

void take_held(Stream stream, const bool* mask, int64_t n, const int64_t* before, size_t element,
               const void* x, void* values, int32_t* indices) {
    dispatch_unit(int(element), [&]<class Unit>(Unit*) {
        launch(take_units<Unit>, unsigned(mask_parts(n)), block_threads, 0, stream, mask, n, before,
               static_cast<const Unit*>(x), static_cast<Unit*>(values), indices);
    });
}

}  // namespace mge::cuda
