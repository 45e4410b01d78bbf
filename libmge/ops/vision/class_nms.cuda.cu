// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/vision/class_nms.cuda.h"

#include "libmge/kernel/cuda/reduce/add_up.h"
#include "libmge/ops/vision/suppression.cuda.cuh"

namespace mge::cuda {
namespace {

// Corners in order.
MGE_DEVICE Box box_at(const float* boxes, int64_t i, bool is_centered) {
    float a = boxes[4 * i], b = boxes[4 * i + 1], c = boxes[4 * i + 2], d = boxes[4 * i + 3];
    if (is_centered) return {a - c / 2, b - d / 2, a + c / 2, b + d / 2};
    return {lower(a, c), lower(b, d), upper(a, c), upper(b, d)};
}

// A box without an area overlaps nothing.
MGE_DEVICE bool overlap(Box a, Box b, float threshold) {
    float width = lower(a.x2, b.x2) - upper(a.x1, b.x1), height = lower(a.y2, b.y2) - upper(a.y1, b.y1);
    if (!(width > 0) || !(height > 0)) return false;
    float common = __fmul_rn(width, height), both = area(a) + area(b) - common;
    return both > 0 && common / both > threshold;
}

// A class of an image per block.
__global__ void __launch_bounds__(most_suppression_threads) go_through_classes(ClassSuppression s) {
    int64_t most = s.most ? (*s.most < 0 ? 0 : *s.most) : 0;
    float threshold = s.overlap ? *s.overlap : 0;
    for (int64_t pair = blockIdx.x; pair < s.pairs; pair += gridDim.x) {
        const float *boxes = s.boxes + pair / s.classes * s.n * 4, *scores = s.scores + pair * s.n;
        auto is_candidate = [&](int32_t i) { return !s.least_score || scores[i] > *s.least_score; };
        auto do_overlap = [&](int32_t better, int32_t worse) {
            return overlap(box_at(boxes, better, s.is_centered), box_at(boxes, worse, s.is_centered),
                           threshold);
        };
        int64_t at = pair * s.n;
        int32_t kept =
            keep_best({s.n, most, s.order + at, s.is_out + at, s.kept + at}, is_candidate, do_overlap);
        if (threadIdx.x == 0) s.before[pair] = kept;
    }
}

__global__ void write_rows(ClassSuppression s, int64_t* selected) {
    for (int64_t pair = blockIdx.x; pair < s.pairs; pair += gridDim.x) {
        int64_t first = s.before[pair], count = s.before[pair + 1] - first;
        for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
            int64_t* row = selected + (first + i) * 3;
            row[0] = pair / s.classes;
            row[1] = pair % s.classes;
            row[2] = s.kept[pair * s.n + i];
        }
    }
}

}  // namespace

void suppress_classes(Stream stream, const ClassSuppression& s) {
    launch(put_in_order<float>, grid_for(s.pairs * s.n * 32), block_threads, 0, stream, s.pairs, s.n,
           s.scores, s.order);
    launch(go_through_classes, bounded_blocks(s.pairs), suppression_threads(s.n), 0, stream, s);
    add_up(stream, s.pairs, s.before);
}

void write_selected(Stream stream, const ClassSuppression& s, int64_t* selected) {
    launch(write_rows, bounded_blocks(s.pairs), block_threads, 0, stream, s, selected);
}

}  // namespace mge::cuda
