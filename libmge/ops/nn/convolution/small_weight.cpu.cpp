// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/convolution/small.h"

#include <algorithm>

#include "libmge/kernel/cpu/convolution/small_weight_gradient.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/ops/nn/convolution/channel_blocks.h"

namespace mge::ops {
namespace {

constexpr int64_t grain_multiplications = 1 << 17;  // per thread, as in the forward operator

enum Input : size_t { x, dy };

struct State {
    cpu::SmallWeightGradient w;
    int64_t images, image_grain;
    cpu::PixelOrder x_order, dy_order;
    int threads;

    bool packs() const { return dy_order == cpu::PixelOrder::planes || w.image.oc != w.channels(); }
    int64_t scratch() const {  // for one thread
        return w.sum_floats() + w.image.workspace_floats() + (packs() ? w.dy_floats() : 0);
    }
};

bool is_channels_last(const TensorSpec& spec) { return spec.layout == Layout::named("nhwc"); }

Support supports(const Problem& p) {
    if (auto support = is_of_f32(p); !support) return support;
    if (!p.outputs[0].layout.is_plain()) return {"plain weights only"};
    for (auto* spec : {&p.inputs[x], &p.inputs[dy]})
        if (!spec->layout.is_plain() && !is_channels_last(*spec))
            return {"plain images and channels last only"};
    if (!is_small_convolution(backward_weight_geometry(p)))
        return {"large enough for a library, or no images"};
    return supported;
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    auto g = backward_weight_geometry(p);
    auto order = [&](size_t i) {
        return is_channels_last(p.inputs[i]) ? cpu::PixelOrder::channels_last : cpu::PixelOrder::planes;
    };
    const int64_t per_image = std::max<int64_t>(g.multiplications() / g.n, 1);
    State s{{small_image(g)}, g.n, grain_multiplications / per_image + 1, order(x), order(dy), p.threads};
    return Prepared::make(s, size_t(s.threads * s.scratch()) * sizeof(float));
}

void add_images(const State& s, const Launch& launch, int64_t first, int64_t last, float* sums) {
    auto& image = s.w.image;
    float *padded = sums + s.w.sum_floats(), *packed = padded + image.workspace_floats();
    const int64_t x_size = image.ic * image.in_height * image.in_width;
    const int64_t dy_size = image.oc * image.height * image.width;
    if (s.packs()) std::fill_n(packed, s.w.dy_floats(), 0.F);
    for (int64_t n = first; n < last; ++n) {
        auto pad = s.x_order == cpu::PixelOrder::planes ? cpu::pad_image : cpu::pad_pixels;
        pad(image, launch.in<float>(x) + n * x_size, padded);
        const float* given = launch.in<float>(dy) + n * dy_size;
        if (s.packs()) cpu::pack_small_gradient(s.w, given, s.dy_order, packed);
        cpu::add_small_weight_gradient(s.w, padded, s.packs() ? packed : given, sums);
    }
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto* all = static_cast<float*>(launch.workspace);
    for (int thread = 0; thread < s.threads; ++thread)
        std::fill_n(all + thread * s.scratch(), s.w.sum_floats(), 0.F);
    in_parts(s.threads, s.images, s.image_grain, [&](int thread, int64_t first, int64_t last) {
        add_images(s, launch, first, last, all + thread * s.scratch());
    });
    for (int thread = 1; thread < s.threads; ++thread)
        for (int64_t i = 0; i < s.w.sum_floats(); ++i) all[i] += all[thread * s.scratch() + i];
    cpu::unpack_small_weight(s.w, all, launch.out<float>(0));
}

}  // namespace

Algorithm small_conv2d_backward_weight() { return {"small", supports, prepare, run}; }

}  // namespace mge::ops
