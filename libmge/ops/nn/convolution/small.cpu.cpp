// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/convolution/small.h"

#include <algorithm>

#include "libmge/kernel/cpu/activate.h"
#include "libmge/kernel/cpu/convolution/small_convolution.h"
#include "libmge/kernel/cpu/onednn/packed_weight.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/ops/nn/convolution/channel_blocks.h"

namespace mge::ops {
namespace {

// About 30 microseconds of one thread: above that the call and the reorders of a library pay.
constexpr int64_t few_multiplications = 1 << 19;
// Work per thread that is worth a parallel region: some microseconds. With less, LeNet on two threads was no
// faster in its convolutions, and what reads their results from the other core's cache took three times as
// long.
constexpr int64_t grain_multiplications = 1 << 17;

constexpr std::string_view pixels = "small", channels = "small_channels";

struct State {
    ConvGeometry geometry;
    cpu::SmallConvolution image;
    cpu::SmallConvolutionKernel kernel;
    std::shared_ptr<const onednn::PackedWeight> weight = {};  // null: as it is given
    int64_t items = 0, item_grain = 1, image_grain = 1;
    Activation activation;
};

Support supports(const Problem& p) {
    for (auto specs : {p.inputs, p.outputs})
        for (auto& spec : specs) {
            if (!spec.layout.is_plain()) return {"plain layouts only"};
            if (!spec.is_absent() && spec.dtype != DType::f32) return {"f32 only"};
        }
    auto g = forward_geometry(p);
    if (g.groups != 1) return {"one group only"};
    if (g.stride != Pair{1, 1}) return {"stride 1 only"};
    if (!is_small_convolution(g)) return {"large enough for a library, or no images"};
    return supported;
}

std::vector<Candidate> candidates(const Problem& p) {
    std::vector<Candidate> list{{std::string(pixels)}};
    if (!p.is_constant(1)) return list;
    auto image = small_image(forward_geometry(p));
    auto& kernels = cpu::small_convolution_kernels();
    bool is_better = kernels.channels.vectors(image) < kernels.pixels.vectors(image);
    list.insert(is_better ? list.begin() : list.end(), Candidate{std::string(channels)});
    return list;
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    auto g = forward_geometry(p);
    auto image = small_image(g);
    auto& kernels = cpu::small_convolution_kernels();
    bool by_channels = context.candidate.name == channels;
    State state{.geometry = g,
                .image = image,
                .kernel = by_channels ? kernels.channels : kernels.pixels,
                .activation = p.as<Conv2d::Params>().activation};
    state.items = state.kernel.items(image);
    int64_t per_image = std::max<int64_t>(g.multiplications() / g.n, 1);
    state.image_grain = grain_multiplications / per_image + 1;
    state.item_grain = grain_multiplications * state.items / per_image + 1;
    PackedInputs packed;
    if (by_channels) {
        auto blocked = pack_blocks(context, g, kernels.lanes);
        state.weight = blocked.weight;
        packed = std::move(blocked.inputs);
    }
    int64_t images_together = g.n == 1 ? 1 : p.threads;
    size_t workspace = size_t(images_together * image.workspace_floats()) * sizeof(float);
    return Prepared::make(std::move(state), workspace, std::move(packed));
}

// Image n, by so many threads.
void compute_image(const State& state, const Launch& launch, int64_t n, float* padded, int threads) {
    auto& g = state.geometry;
    int64_t x_size = g.ic * g.in[0] * g.in[1], y_size = g.oc * g.out[0] * g.out[1];
    const float* residual = launch.in_if_given<float>(3);
    bool is_relu = without_nan(state.activation) == Activation::relu;
    const float* x = launch.in<float>(0) + n * x_size;
    // Channels in the lanes: nothing is read behind the image, so one without padding may stay where it is.
    const bool is_copied = !state.weight || g.padding != Pair{0, 0};
    if (is_copied) cpu::pad_image(state.image, x, padded);
    cpu::SmallConvolutionData data{
        is_copied ? padded : x,
        state.weight ? static_cast<const float*>(state.weight->data()) : launch.in<float>(1),
        launch.in_if_given<float>(2),
        residual ? residual + n * y_size : nullptr,
        launch.out<float>(0) + n * y_size,
        is_relu ? state.activation : Activation::none};
    par_for(threads, state.items, state.item_grain,
            [&](int64_t first, int64_t last) { state.kernel.compute(state.image, data, first, last); });
    if (is_relu || state.activation == Activation::none) return;
    par_for(threads, y_size, parallel_grain, [&](int64_t first, int64_t last) {
        cpu::activate(state.activation, data.y + first, last - first);
    });
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    auto* padded = static_cast<float*>(launch.workspace);
    if (state.geometry.n == 1) return compute_image(state, launch, 0, padded, launch.threads);
    in_parts(launch.threads, state.geometry.n, state.image_grain,
             [&](int thread, int64_t begin, int64_t end) {
                 float* own = padded + thread * state.image.workspace_floats();
                 for (int64_t n = begin; n < end; ++n) compute_image(state, launch, n, own, 1);
             });
}

}  // namespace

bool is_small_convolution(const ConvGeometry& g) {
    return g.groups == 1 && g.stride == Pair{1, 1} && g.n > 0 &&
           g.multiplications() / g.n <= few_multiplications;
}

cpu::SmallConvolution small_image(const ConvGeometry& g) {
    return {g.oc,         g.ic,         g.out[0],    g.out[1],    g.in[0],       g.in[1],
            g.padding[0], g.padding[1], g.kernel[0], g.kernel[1], g.dilation[0], g.dilation[1]};
}

Algorithm small_conv2d() { return {"small", supports, prepare, run, {}, candidates}; }

}  // namespace mge::ops
