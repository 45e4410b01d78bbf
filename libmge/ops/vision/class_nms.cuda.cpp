// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/vision/class_nms.cuda.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/vision/class_nms.h"

namespace mge::ops {
namespace {

Prepared prepare(const PrepareContext& context) {
    auto& scores = context.problem.inputs[1].shape;
    cuda::ClassSuppression s{};
    s.pairs = scores[0] * scores[1];
    s.classes = scores[1];
    s.n = scores[2];
    s.is_centered = context.problem.as<ClassNms::Params>().is_centered;
    size_t workspace = size_t(s.pairs + 1) * sizeof(int64_t) + size_t(3 * scores.numel()) * sizeof(int32_t);
    return Prepared::make(s, workspace);
}

// Waits, since the host has to know how many there are.
void run(const Prepared& prepared, const Launch& launch) {
    auto s = prepared.state<cuda::ClassSuppression>();
    auto input = [&]<class T>(size_t i, const T*& address) {
        address = i < launch.inputs.size() ? launch.in<T>(i) : nullptr;
    };
    input(0, s.boxes);
    input(1, s.scores);
    input(2, s.most);
    input(3, s.overlap);
    input(4, s.least_score);
    int64_t count = 0, boxes = s.pairs * s.n;
    if (boxes) {
        s.before = static_cast<int64_t*>(launch.workspace);
        s.order = reinterpret_cast<int32_t*>(s.before + s.pairs + 1);
        s.is_out = s.order + boxes;
        s.kept = s.is_out + boxes;
        cuda::suppress_classes(cuda::stream_of(launch), s);
        launch.queue->copy_to_host(&count, s.before + s.pairs, sizeof count);
    }
    auto* selected = static_cast<int64_t*>(launch.allocator->allocate(0, {DType::i64, {count, 3}, {}}));
    if (count) cuda::write_selected(cuda::stream_of(launch), s, selected);
}

}  // namespace

KernelList kernels(Cuda, ClassNms) { return one_algorithm<prepare, run>("greedy"); }

}  // namespace mge::ops
