// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/cond_take.cuda.h"

#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/kernel/cuda/reduce/add_up.h"
#include "libmge/kernel/cuda/reduce/scan.cuh"
#include "libmge/ops/index/rows_at_places.cuda.cuh"

namespace mge::cuda {
namespace {

constexpr int part = 16 * block_threads;  // a thread takes an element of it after the other

__global__ void count_parts(const bool* mask, int64_t n, int64_t* counts) {
    for (int64_t begin = int64_t(blockIdx.x) * part; begin < n; begin += int64_t(gridDim.x) * part) {
        int count = 0;
        for (int64_t i = begin + threadIdx.x; i < begin + part && i < n; i += block_threads) count += mask[i];
        int total = scan_block(count).total;
        if (threadIdx.x == 0) counts[begin / part] = total;
    }
}

template <class Unit>
__global__ void take_units(const bool* mask, int64_t n, const int64_t* before, const Unit* x, Unit* values,
                           int32_t* indices) {
    for (int64_t begin = int64_t(blockIdx.x) * part; begin < n; begin += int64_t(gridDim.x) * part) {
        int64_t to = before[begin / part];
        for (int64_t row = begin; row < begin + part; row += block_threads) {
            int64_t i = row + threadIdx.x;
            bool holds = i < n && mask[i];
            auto scanned = scan_block(int(holds));
            if (holds) {
                values[to + scanned.before] = x[i];
                indices[to + scanned.before] = int32_t(i);
            }
            to += scanned.total;
        }
    }
}

}  // namespace

int64_t mask_parts(int64_t n) { return (n + part - 1) / part; }

void count_held(Stream stream, const bool* mask, int64_t n, int64_t* before) {
    int64_t parts = mask_parts(n);
    launch(count_parts, bounded_blocks(parts), block_threads, 0, stream, mask, n, before);
    add_up(stream, parts, before);
}

void take_held(Stream stream, const bool* mask, int64_t n, const int64_t* before, size_t element,
               const void* x, void* values, int32_t* indices) {
    dispatch_unit(int(element), [&]<class Unit>(Unit*) {
        launch(take_units<Unit>, bounded_blocks(mask_parts(n)), block_threads, 0, stream, mask, n, before,
               static_cast<const Unit*>(x), static_cast<Unit*>(values), indices);
    });
}

}  // namespace mge::cuda
