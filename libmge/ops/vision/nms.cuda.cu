// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/vision/nms.cuda.h"

#include "libmge/ops/vision/suppression.cuda.cuh"

namespace mge::cuda {
namespace {

MGE_DEVICE Box box_at(const float* boxes, int64_t i) {
    return {boxes[4 * i], boxes[4 * i + 1], boxes[4 * i + 2], boxes[4 * i + 3]};
}

// Is the intersection larger than this part of the union?
MGE_DEVICE bool overlap(Box a, Box b, double threshold) {
    float width = lower(a.x2, b.x2) - upper(a.x1, b.x1), height = lower(a.y2, b.y2) - upper(a.y1, b.y1);
    float common = __fmul_rn(upper(width, 0), upper(height, 0));
    return double(common) > threshold * double(area(a) + area(b) - common);
}

__global__ void __launch_bounds__(most_suppression_threads)
    go_through(Suppression s, const float* boxes, SuppressionWork work) {
    auto is_candidate = [](int32_t) { return true; };
    auto do_overlap = [&](int32_t better, int32_t worse) {
        return overlap(box_at(boxes, better), box_at(boxes, worse), s.threshold);
    };
    int32_t kept =
        keep_best({s.boxes, s.max_output, work.order, work.is_out, work.kept}, is_candidate, do_overlap);
    if (threadIdx.x == 0) *work.count = kept;
}

}  // namespace

void suppress(Stream stream, const Suppression& s, const float* boxes, const float* scores,
              const SuppressionWork& work) {
    launch(put_in_order<float>, grid_for(s.boxes * 32), block_threads, 0, stream, int64_t(1), s.boxes, scores,
           work.order);
    launch(go_through, 1, suppression_threads(s.boxes), 0, stream, s, boxes, work);
}

}  // namespace mge::cuda
