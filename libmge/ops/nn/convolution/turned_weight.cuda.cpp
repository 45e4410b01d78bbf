// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/convolution/turned_weight.cuda.h"

#include <algorithm>
#include <array>

#include "libmge/kernel/cuda/launch.h"

namespace mge::ops {
namespace {

// (filters, channels, kernel) to (filters, kernel, channels), or back.
cuda::CopyPlan turn(const ConvGeometry& g, DType dtype, bool is_back) {
    int64_t filters = g.groups * g.oc, kernel = g.kernel[0] * g.kernel[1];
    StridedSide ours{0, {g.ic * kernel, kernel, 1}}, theirs{0, {g.ic * kernel, 1, g.ic}};
    return cuda::CopyPlan(StridedCopy(size_of(dtype), {filters, g.ic, kernel}, is_back ? theirs : ours,
                                      is_back ? ours : theirs));
}

}  // namespace

bool is_turned_for_channels_last(const ConvGeometry& g) { return g.ic > 1 && g.kernel[0] * g.kernel[1] > 1; }

TurnedWeight turned_weight(const Problem& problem, const ConvGeometry& g, DType dtype, const void* constant,
                           bool is_result) {
    TurnedWeight turned;
    turned.copy = turn(g, dtype, is_result);
    auto bytes = size_t(g.groups * g.oc * g.ic * g.kernel[0] * g.kernel[1]) * size_of(dtype);
    if (!constant) {
        turned.bytes = workspace_part(bytes);
        return turned;
    }
    auto& queue = queue_of(problem.device);
    turned.kept = queue.allocate(bytes);
    Launch launch;
    launch.queue = &queue;
    turned.copy->run(launch, constant, turned.kept->data);
    turned.back = turn(g, dtype, true);
    turned.plain_bytes = workspace_part(bytes) + workspace_alignment;
    return turned;
}

void run_with_plain_weight(const TurnedWeight& turned, size_t weight_input, const Algorithm& algorithm,
                           const Prepared& prepared, const Launch& launch) {
    if (!turned.kept) return algorithm.run(prepared, launch);
    auto* plain = reinterpret_cast<char*>(workspace_part(uintptr_t(launch.workspace)));
    turned.back->run(launch, turned.kept->data, plain);
    std::array<const void*, 16> inputs{};
    std::ranges::copy(launch.inputs, inputs.begin());
    inputs[weight_input] = plain;
    Launch own = launch;
    own.inputs = {inputs.data(), launch.inputs.size()};
    own.workspace = reinterpret_cast<char*>(launch.workspace) + turned.plain_bytes;
    algorithm.run(prepared, own);
}

}  // namespace mge::ops
