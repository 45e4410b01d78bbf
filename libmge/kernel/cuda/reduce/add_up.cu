// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cuda/reduce/add_up.h"

#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/kernel/cuda/reduce/scan.cuh"

namespace mge::cuda {
namespace {

constexpr int most_threads = 1024;

// One block.
__global__ void __launch_bounds__(most_threads) sum_up(int64_t n, int64_t* counts) {
    int64_t before = 0;
    for (int64_t begin = 0; begin < n; begin += blockDim.x) {
        int64_t i = begin + threadIdx.x;
        auto scanned = scan_block(i < n ? counts[i] : 0);
        if (i < n) counts[i] = before + scanned.before;
        before += scanned.total;
    }
    if (threadIdx.x == 0) counts[n] = before;
}

}  // namespace

void add_up(Stream stream, int64_t n, int64_t* counts) {
    launch(sum_up, 1, n > block_threads ? most_threads : block_threads, 0, stream, n, counts);
}

}  // namespace mge::cuda
