// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/vision/class_nms.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "libmge/kernel/plain_layouts.h"

namespace mge::ops {
namespace {

// Corners in order.
struct Box {
    float x1, y1, x2, y2;
    float area() const { return (x2 - x1) * (y2 - y1); }
};

Box box_at(const float* numbers, bool is_centered) {
    float a = numbers[0], b = numbers[1], c = numbers[2], d = numbers[3];
    if (is_centered) return {a - c / 2, b - d / 2, a + c / 2, b + d / 2};
    return {std::min(a, c), std::min(b, d), std::max(a, c), std::max(b, d)};
}

// A box without an area overlaps nothing.
bool overlap(const Box& a, const Box& b, float threshold) {
    float width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
    float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
    if (!(width > 0) || !(height > 0)) return false;
    float common = width * height, both = a.area() + b.area() - common;
    return both > 0 && common / both > threshold;
}

using Selected = std::array<int64_t, 3>;

struct Selection {
    int64_t most = 0;
    float overlap = 0, score = -std::numeric_limits<float>::infinity();
    bool has_score = false;
};

template <class T>
T number_or(const Launch& launch, size_t input, T otherwise) {
    return input < launch.inputs.size() && launch.inputs[input] ? *launch.in<T>(input) : otherwise;
}

// The boxes of one class of one image.
void select(const Selection& how, const std::vector<Box>& boxes, const float* scores, int64_t image,
            int64_t of_class, std::vector<Selected>& selected) {
    std::vector<int64_t> candidates, kept;
    for (size_t i = 0; i < boxes.size(); ++i)
        if (!how.has_score || scores[i] > how.score) candidates.push_back(int64_t(i));
    // NaN is worse than every number.
    auto is_better = [&](int64_t a, int64_t b) {
        return scores[a] > scores[b] || (scores[b] != scores[b] && scores[a] == scores[a]);
    };
    std::ranges::stable_sort(candidates, is_better);
    for (int64_t candidate : candidates) {
        if (int64_t(kept.size()) >= how.most) break;
        auto is_in_the_way = [&](int64_t better) {
            return overlap(boxes[size_t(better)], boxes[size_t(candidate)], how.overlap);
        };
        if (std::ranges::any_of(kept, is_in_the_way)) continue;
        kept.push_back(candidate);
        selected.push_back({image, of_class, candidate});
    }
}

void run_greedy(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<ClassNms::Params>>();
    int64_t images = problem.inputs[1].shape[0], classes = problem.inputs[1].shape[1],
            n = problem.inputs[1].shape[2];
    Selection how{.most = number_or<int64_t>(launch, 2, 0), .overlap = number_or<float>(launch, 3, 0)};
    how.score = number_or(launch, 4, how.score);
    how.has_score = launch.inputs.size() > 4 && launch.inputs[4];
    std::vector<Selected> selected;
    for (int64_t image = 0; image < images; ++image) {
        std::vector<Box> boxes;
        boxes.reserve(size_t(n));
        for (int64_t i = 0; i < n; ++i)
            boxes.push_back(box_at(launch.in<float>(0) + (image * n + i) * 4, problem.params.is_centered));
        for (int64_t of_class = 0; of_class < classes; ++of_class)
            select(how, boxes, launch.in<float>(1) + (image * classes + of_class) * n, image, of_class,
                   selected);
    }
    void* rows = launch.allocator->allocate(0, {DType::i64, {int64_t(selected.size()), 3}, {}});
    if (!selected.empty()) std::memcpy(rows, selected.data(), selected.size() * sizeof(Selected));
}

}  // namespace

KernelList kernels(Cpu, ClassNms) {
    return one_algorithm<copy_problem<ClassNms::Params>, run_greedy>("greedy");
}

}  // namespace mge::ops
