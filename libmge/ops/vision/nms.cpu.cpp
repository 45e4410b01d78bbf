// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/vision/nms.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {
namespace {

struct Box {
    float x1, y1, x2, y2;
    float area() const { return (x2 - x1) * (y2 - y1); }
};

// Is the intersection larger than this part of the union? A box whose corners are in the wrong order may have
// an area below zero, and then be in the way of others without a common pixel, as in MegEngine.
bool overlap(const Box& a, const Box& b, double threshold) {
    float width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
    float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
    float common = std::max(width, 0.f) * std::max(height, 0.f);
    return double(common) > threshold * double(a.area() + b.area() - common);
}

// NaN is worse than every number.
bool is_better(float a, float b) { return a > b || (std::isnan(b) && !std::isnan(a)); }

void run_greedy(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<Nms::Params>>();
    auto& p = problem.params;
    int64_t n = problem.inputs[0].shape[0];
    const float* scores = launch.in<float>(1);
    std::vector<int32_t> order(static_cast<size_t>(n)), kept;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return is_better(scores[a], scores[b]); });
    std::vector<Box> boxes(static_cast<size_t>(n));
    if (n > 0) std::memcpy(boxes.data(), launch.in<float>(0), size_t(n) * sizeof(Box));
    for (int32_t candidate : order) {
        if (p.max_output >= 0 && int64_t(kept.size()) >= p.max_output) break;
        auto is_in_the_way = [&](int32_t better) {
            return overlap(boxes[size_t(better)], boxes[size_t(candidate)], p.threshold);
        };
        if (std::none_of(kept.begin(), kept.end(), is_in_the_way)) kept.push_back(candidate);
    }
    void* indices = launch.allocator->allocate(0, {DType::i32, {int64_t(kept.size())}, {}});
    if (!kept.empty()) std::memcpy(indices, kept.data(), kept.size() * sizeof(int32_t));
}

}  // namespace

KernelList kernels(Cpu, Nms) { return one_algorithm<copy_problem<Nms::Params>, run_greedy>("greedy"); }

}  // namespace mge::ops
