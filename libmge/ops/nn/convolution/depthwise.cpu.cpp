// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/convolution/depthwise.h"

#include <algorithm>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/balanced.h"
#include "libmge/kernel/cpu/onednn/packed_weight.h"
#include "libmge/ops/nn/convolution/channel_blocks.h"
#include "libmge/ops/nn/convolution/conv2d_algorithms.h"

namespace mge::ops {
namespace {

// Limit for x. Larger planes come from beyond the L2 cache, where the library is as fast (0.96 to 1.1 of this
// kernel's time at 112×112 pixels on a Zen 3), unless it computes the activation in a second pass.
constexpr int64_t plane_bytes = 1 << 17;
bool is_faster_than_library(const ConvGeometry& g, Activation activation) {
    return activation >= Activation::silu ||
           g.in[0] * g.in[1] * channel_block() * int64_t(sizeof(float)) <= plane_bytes;
}
// Work per thread that is worth a parallel region; about 20 multiplications per nanosecond are done.
constexpr int64_t grain_multiplications = 1 << 15;

struct State {
    cpu::Depthwise shape;
    std::shared_ptr<const onednn::PackedWeight> weight;
    PartSizes parts;
};

Support supports(const Problem& p) {
    if (auto support = has_constant_weights_of_f32(p); !support) return support;
    if (cpu_isa() >= Isa::avx512) return {"not measured with vectors of 512 bits"};
    auto g = forward_geometry(p);
    if (g.groups == 1 || g.ic != 1 || g.oc != 1) return {"a window for each channel only"};
    const Pair one{1, 1};
    if (g.dilation != one || g.kernel[0] != g.kernel[1] || g.stride[0] != g.stride[1] ||
        !cpu::Depthwise::has(g.kernel[0], g.stride[0]))
        return {"windows of 3×3 and 5×5 with stride 1 or 2 only"};
    if (std::max(g.padding[0], g.padding[1]) >= g.kernel[0]) return {"less padding than the window only"};
    if (has_fast_library() && !is_faster_than_library(g, p.as<Conv2d::Params>().activation))
        return {"smaller images, or functions of exponentials, only"};
    return uses_channel_blocks(p);
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    auto g = forward_geometry(p);
    ConvGeometry weights = g;
    weights.oc = g.groups;
    auto [weight, packed] = pack_blocks(context, weights, channel_block());
    State s{{g.n,
             g.groups,
             {g.in[0], g.in[1]},
             {g.out[0], g.out[1]},
             {g.padding[0], g.padding[1]},
             g.kernel[0],
             g.stride[0],
             p.as<Conv2d::Params>().activation},
            weight,
            {}};
    const int64_t rows = s.shape.rows(), of_row = g.multiplications() / rows + 1;
    s.parts = part_sizes(p.threads, rows, grain_multiplications / of_row + 1);
    return Prepared::make(std::move(s), 0, std::move(packed));
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    const cpu::DepthwiseData data{launch.in<float>(0), static_cast<const float*>(s.weight->data()),
                                  launch.in_if_given<float>(2), launch.in_if_given<float>(3),
                                  launch.out<float>(0)};
    in_claimed_parts(launch.threads, s.shape.rows(), s.parts,
                     [&](int64_t first, int64_t last) { cpu::depthwise(s.shape, data, first, last); });
}

}  // namespace

Algorithm depthwise_conv2d() { return {"depthwise", supports, prepare, run}; }

}  // namespace mge::ops
