// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/convolution/depthwise/depthwise.cuda.h"

#include <algorithm>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cuda/launch.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "libmge/ops/nn/convolution/conv2d_algorithms.h"
#include "libmge/ops/nn/convolution/device_extents.cuda.h"
#include "libmge/ops/nn/convolution/implicit_gemm.h"

namespace mge::ops {
namespace {

constexpr int64_t most_shared = 48 << 10;  // bytes that every block may have
constexpr int64_t most_packs = 32;         // adjacent packs per block: further ones are for other blocks

struct State {
    DType dtype;
    cuda::DepthwiseArguments arguments{};
    cuda::DepthwiseBlocks of_single{};  // for operands that no packs can be loaded from
};

bool is_aligned(const void* address) { return uintptr_t(address) % cuda::pack_bytes == 0; }

int64_t window_bytes(const ConvGeometry& g) { return g.kernel[0] * g.kernel[1] * int64_t(sizeof(float)); }

int64_t row_groups(const ConvGeometry& g) { return ceil_div(g.out[0], cuda::depthwise_rows); }

Support supports(const Problem& p) {
    if (!order_of_images(p)) return {"images that are all plain or all nhwc, and plain weights"};
    auto g = forward_geometry(p);
    if (g.ic != 1 || g.oc != 1) return {"one filter for each channel"};
    if (window_bytes(g) * cuda::depthwise_pack > most_shared) return {"windows that fit into shared memory"};
    for (auto& input : p.inputs)
        if (!input.is_absent() && input.dtype != p.outputs[0].dtype) return {"one dtype for all operands"};
    return fits_device_text(g);
}

// As many packs beside each other as there are, and as a block has memory for, the same number in each chunk;
// as many rounds of a block as leave enough blocks.
cuda::DepthwiseBlocks blocks_of(const ConvGeometry& g, int pack) {
    constexpr int64_t enough = 1024, most_rounds = 8;
    int64_t packs = g.groups / pack, fitting = most_shared / (window_bytes(g) * pack);
    int64_t chunks = ceil_div(packs, std::min(most_packs, fitting)), beside = ceil_div(packs, chunks);
    int64_t blocks = g.n * row_groups(g) * g.out[1] * beside / cuda::depthwise_threads * chunks;
    return {int(beside), int(beside) * pack, int(chunks),
            int(std::clamp<int64_t>(blocks / enough, 1, most_rounds))};
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    auto g = forward_geometry(p);
    auto order = *order_of_images(p);
    State state{p.outputs[0].dtype};
    auto& a = state.arguments;
    a.conv = device_extents(g, order);
    a.activation = p.as<Conv2d::Params>().activation;
    a.row_groups = cuda::divisor_of(std::max<int64_t>(row_groups(g), 1));
    a.of_plane = row_groups(g) * g.out[1];
    a.pack = 1;
    if (order == ImageOrder::channels_last && p.outputs[0].numel()) {
        if (g.groups % cuda::depthwise_pack == 0) a.pack = cuda::depthwise_pack;
        a.blocks = blocks_of(g, a.pack);
        state.of_single = blocks_of(g, 1);
    }
    return Prepared::make(state);
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    cuda::DepthwiseArguments a = state.arguments;
    if (a.conv.images * a.conv.groups * a.conv.out[0] * a.conv.out[1] == 0) return;
    a.x = launch.inputs[0];
    a.weight = launch.inputs[1];
    a.bias = launch.in_if_given<void>(2);
    a.residual = launch.in_if_given<void>(3);
    a.y = launch.outputs[0];
    if (a.pack > 1 && !(is_aligned(a.x) && is_aligned(a.residual) && is_aligned(a.y))) {
        a.pack = 1;
        a.blocks = state.of_single;
    }
    cuda::run_depthwise(cuda::stream_of(launch), cuda::type_index(state.dtype), a);
}

}  // namespace

Algorithm depthwise_conv2d_on_gpu() { return {"depthwise", supports, prepare, run}; }

}  // namespace mge::ops
