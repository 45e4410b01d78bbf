// SPDX-License-Identifier: Apache-2.0
// The swaps are sequential, from the last position to the first one, but those of different positions may run
// together. So a block takes a window of swaps, one per thread. In each round every pending swap claims its
// two positions; an earlier swap has precedence over a later one, and a swap that has both positions is done
// (deterministic reservations: Shun et al., "Sequential random permutation, list contraction and tree
// contraction are highly parallel", 2015). Among many positions hardly any two swaps of a window conflict.
#include "libmge/ops/random/permutation.cuda.h"

#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/kernel/cuda/philox.cuh"

namespace mge::cuda {
namespace {

constexpr int largest_window = 1024;
constexpr int32_t no_winner = -1;

template <class T>
__global__ void count_up(int64_t n, T* y, int32_t* winners) {
    for (int64_t i = first_piece(); i < n; i += piece_step()) {
        y[i] = narrow<T>(Computed<T>(i));
        winners[i] = no_winner;
    }
}

// Below `bound`, as the CPU draws it.
MGE_DEVICE int64_t below(int64_t bound, PhiloxWords words) {
    return int64_t(__umul64hi((unsigned long long)(words.w0) << 32 | words.w1, (unsigned long long)(bound)));
}

template <class T>
__global__ void __launch_bounds__(largest_window)
    swap_in_windows(const int32_t* state, unsigned random_stream, int64_t n, T* y, int32_t* winners) {
    __shared__ int is_open;
    PhiloxBlocks blocks(state, random_stream);
    for (int64_t top = n - 1; top > 0; top -= blockDim.x) {
        int64_t i = top - threadIdx.x, other = i > 0 ? below(i + 1, blocks[i]) : 0;
        bool is_done = i <= 0, again = false;
        do {
            // A larger i comes earlier.
            if (!is_done) {
                atomicMax(&winners[i], int32_t(i));
                atomicMax(&winners[other], int32_t(i));
            }
            if (threadIdx.x == 0) is_open = 0;
            __syncthreads();
            bool was_done = is_done;
            if (!is_done && winners[i] == i && winners[other] == i) {
                T old = y[i];
                y[i] = y[other];
                y[other] = old;
                is_done = true;
            }
            if (!is_done) is_open = 1;
            __syncthreads();
            again = is_open;
            if (!was_done) winners[i] = winners[other] = no_winner;
            __syncthreads();
        } while (again);
    }
}

}  // namespace

void shuffle(Stream stream, int type, const int32_t* state, unsigned random_stream, int64_t n,
             int32_t* winners, void* y) {
    unsigned window = n < largest_window ? unsigned(n + 31) / 32 * 32 : largest_window;
    dispatch_type(type, NumberTypes{}, [&]<class T>(T*) {
        auto* numbers = static_cast<T*>(y);
        launch(count_up<T>, grid_for(n), block_threads, 0, stream, n, numbers, winners);
        launch(swap_in_windows<T>, 1, window, 0, stream, state, random_stream, n, numbers, winners);
    });
}

}  // namespace mge::cuda
