// SPDX-License-Identifier: Apache-2.0
// Boxes are put in order by counting who is better, each by a warp. Then one block goes through them: who is
// not out yet is kept, and takes out all behind that it overlaps.
#include "libmge/ops/vision/nms.cuda.h"

#include "libmge/kernel/cuda/rows.cuh"

namespace mge::cuda {
namespace {

struct Box {
    float x1, y1, x2, y2;
};
MGE_DEVICE Box box_at(const float* boxes, int64_t i) {
    return {boxes[4 * i], boxes[4 * i + 1], boxes[4 * i + 2], boxes[4 * i + 3]};
}
// Rounded products: contracted with a sum they would decide otherwise than the host's.
MGE_DEVICE float area(Box b) { return __fmul_rn(b.x2 - b.x1, b.y2 - b.y1); }
// As std::min and std::max: of what cannot be compared the first.
MGE_DEVICE float lower(float a, float b) { return b < a ? b : a; }
MGE_DEVICE float upper(float a, float b) { return a < b ? b : a; }

// Is the intersection larger than this part of the union?
MGE_DEVICE bool overlap(Box a, Box b, double threshold) {
    float width = lower(a.x2, b.x2) - upper(a.x1, b.x1), height = lower(a.y2, b.y2) - upper(a.y1, b.y1);
    float common = __fmul_rn(upper(width, 0), upper(height, 0));
    return double(common) > threshold * double(area(a) + area(b) - common);
}
// NaN is worse than every number; among equals the first is the best.
MGE_DEVICE bool is_before(float a, int64_t at_a, float b, int64_t at_b) {
    if (a > b || (b != b && a == a)) return true;
    return !(b > a || (a != a && b == b)) && at_a < at_b;
}

__global__ void put_in_order(int64_t n, const float* scores, int32_t* order) {
    for (int64_t i = first_piece() / 32; i < n; i += piece_step() / 32) {
        float score = scores[i];
        int better = 0;
        for (int64_t j = threadIdx.x % 32; j < n; j += 32) better += is_before(scores[j], j, score, i);
        better = across_lanes(better, 32, Plus());
        if (threadIdx.x % 32 == 0) order[better] = int32_t(i);
    }
}

__global__ void go_through(Suppression s, const float* boxes, SuppressionWork work) {
    for (int64_t i = threadIdx.x; i < s.boxes; i += blockDim.x) work.is_out[i] = 0;
    __syncthreads();
    int64_t kept = 0;
    for (int64_t i = 0; i < s.boxes && (s.max_output < 0 || kept < s.max_output); ++i) {
        if (work.is_out[i]) continue;  // for all threads alike
        int32_t best = work.order[i];
        if (threadIdx.x == 0) work.kept[kept] = best;
        ++kept;
        Box box = box_at(boxes, best);
        for (int64_t j = i + 1 + threadIdx.x; j < s.boxes; j += blockDim.x)
            if (!work.is_out[j] && overlap(box, box_at(boxes, work.order[j]), s.threshold))
                work.is_out[j] = 1;
        __syncthreads();
    }
    if (threadIdx.x == 0) *work.count = int32_t(kept);
}

}  // namespace

void suppress(Stream stream, const Suppression& s, const float* boxes, const float* scores,
              const SuppressionWork& work) {
    constexpr int most_threads = 1024;
    launch(put_in_order, grid_for(s.boxes * 32), block_threads, 0, stream, s.boxes, scores, work.order);
    int threads = s.boxes > block_threads ? most_threads : block_threads;
    launch(go_through, 1, threads, 0, stream, s, boxes, work);
}

}  // namespace mge::cuda
