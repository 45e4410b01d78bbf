// SPDX-License-Identifier: Apache-2.0
#pragma once
// Non-maximum suppression: boxes are put in order by counting who is better, each by a warp. Then one block
// goes through them: who is not out yet is kept, and takes out all behind that it overlaps.

#include "libmge/kernel/cuda/best_first.cuh"
#include "libmge/kernel/cuda/rows.cuh"

namespace mge::cuda {

struct Box {
    float x1, y1, x2, y2;
};
// Rounded products: contracted with a sum they would decide otherwise than the host's.
MGE_DEVICE float area(Box b) { return __fmul_rn(b.x2 - b.x1, b.y2 - b.y1); }
// As std::min and std::max: of what cannot be compared the first.
MGE_DEVICE float lower(float a, float b) { return b < a ? b : a; }
MGE_DEVICE float upper(float a, float b) { return a < b ? b : a; }

// For each row of n scores.
template <class Score>
__global__ void put_in_order(int64_t rows, int64_t n, const Score* scores, int32_t* order) {
    for (int64_t i = first_piece() / 32; i < rows * n; i += piece_step() / 32) {
        int64_t row = i, at = split_index(row, n);
        const Score* others = scores + row * n;
        int better = 0;
        for (int64_t j = threadIdx.x % 32; j < n; j += 32) better += is_before(others[j], j, others[at], at);
        better = across_lanes(better, 32, Plus());
        if (threadIdx.x % 32 == 0) order[row * n + better] = int32_t(at);
    }
}

// Suppresses n boxes in this order, and returns the number of kept ones, at most a limit (below 0: all). For
// a whole block.
struct Ordered {
    int64_t n, most;
    const int32_t* order;
    int32_t *is_out, *kept;
};
// `is_candidate(box)`: false from one on; `overlap(better, worse)`.
template <class IsCandidate, class Overlap>
MGE_DEVICE int32_t keep_best(const Ordered& boxes, IsCandidate is_candidate, Overlap overlap) {
    for (int64_t i = threadIdx.x; i < boxes.n; i += blockDim.x) boxes.is_out[i] = 0;
    __syncthreads();
    int32_t kept = 0;
    for (int64_t i = 0; i < boxes.n && (boxes.most < 0 || kept < boxes.most); ++i) {
        if (boxes.is_out[i]) continue;  // for all threads alike
        int32_t best = boxes.order[i];
        if (!is_candidate(best)) break;
        if (threadIdx.x == 0) boxes.kept[kept] = best;
        ++kept;
        for (int64_t j = i + 1 + threadIdx.x; j < boxes.n; j += blockDim.x)
            if (!boxes.is_out[j] && overlap(best, boxes.order[j])) boxes.is_out[j] = 1;
        __syncthreads();
    }
    return kept;
}

// For blocks that go through so many boxes.
inline constexpr int most_suppression_threads = 1024;
inline unsigned suppression_threads(int64_t boxes) {
    return boxes > block_threads ? most_suppression_threads : block_threads;
}

}  // namespace mge::cuda
