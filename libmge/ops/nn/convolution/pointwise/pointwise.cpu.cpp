// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/convolution/pointwise.h"

#include <memory>

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/balanced.h"
#include "libmge/kernel/cpu/onednn/packed_weight.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/ops/nn/convolution/channel_blocks.h"
#include "libmge/ops/nn/convolution/conv2d_algorithms.h"

namespace mge::ops {
namespace {

// Measured on the layers of MobileNets: with AVX2 these take 0.8 to 0.86 of the library's time at 7×7 pixels,
// on AVX-512 0.8 where y has more channels than x. With more pixels the library is as fast, and at 14×14 up
// to a tenth faster with two threads.
constexpr int64_t enough_pixels = 16, few_pixels = 64;
bool is_faster_than_library(const ConvGeometry& g) {
    const bool has_avx2_alone = cpu_isa() >= Isa::avx2 && cpu_isa() < Isa::avx512;
    return g.out[0] * g.out[1] <= few_pixels && (g.oc > g.ic || has_avx2_alone);
}
// Unless the activation is a function of exponentials, which the library computes in a second pass over the
// result or slowly. Not measured with vectors of 512 bits.
bool has_costly_activation(Activation activation) {
    return cpu_isa() < Isa::avx512 && activation >= Activation::silu;
}
// A second thread costs a parallel region, which less work does not earn.
constexpr int64_t few_multiplications = 1 << 18;
// Smallest part that a thread takes from another one at the end: some microseconds.
constexpr int64_t least_multiplications = 1 << 17;

struct State {
    cpu::Pointwise shape;
    std::shared_ptr<const onednn::PackedWeight> weight;
    int threads;
    PartSizes parts;
};

Support supports(const Problem& p) {
    if (auto support = has_constant_weights_of_f32(p); !support) return support;
    auto g = forward_geometry(p);
    const Pair one{1, 1}, none{0, 0};
    if (g.kernel != one || g.stride != one || g.padding != none || g.groups != 1)
        return {"1×1 windows with stride 1, in one group, only"};
    const int64_t pixels = g.out[0] * g.out[1];
    if (g.n != 1 || pixels < enough_pixels) return {"one image of some pixels only"};
    if (has_fast_library() && !is_faster_than_library(g) &&
        !has_costly_activation(p.as<Conv2d::Params>().activation))
        return {"few pixels or functions of exponentials only"};
    return uses_channel_blocks(p);
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    auto g = forward_geometry(p);
    auto [weight, packed] = pack_blocks(context, g, channel_block());
    State s{{g.ic, g.oc, g.out[0] * g.out[1], p.as<Conv2d::Params>().activation},
            weight,
            g.multiplications() < few_multiplications ? 1 : p.threads,
            {}};
    const int64_t items = s.shape.items(), of_item = g.multiplications() / items + 1;
    s.parts = part_sizes(s.threads, items, least_multiplications / of_item + 1);
    return Prepared::make(std::move(s), 0, std::move(packed));
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    const cpu::PointwiseData data{launch.in<float>(0), static_cast<const float*>(s.weight->data()),
                                  launch.in_if_given<float>(2), launch.in_if_given<float>(3),
                                  launch.out<float>(0)};
    in_claimed_parts(s.threads, s.shape.items(), s.parts,
                     [&](int64_t first, int64_t last) { cpu::pointwise(s.shape, data, first, last); });
}

}  // namespace

Algorithm pointwise_conv2d() { return {"pointwise", supports, prepare, run}; }

}  // namespace mge::ops
