// SPDX-License-Identifier: Apache-2.0
// Depthwise convolutions with wide windows for vectors of 128 and 256 bits, where oneDNN's forward operator
// has no fast kernel for them. With stride 1, a convolution is also the gradient of x of another one, whose
// windows are turned by half a turn, and oneDNN computes that gradient fast for windows of any size.
#include <algorithm>
#include <array>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/activate.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/ops/nn/convolution/channel_blocks.h"
#include "libmge/ops/nn/convolution/conv2d_algorithms.h"
#include "libmge/ops/nn/convolution/depthwise/inner_problem.h"

namespace mge::ops {
namespace {

constexpr std::string_view turned_prefix = "turned:";
// The widest windows of oneDNN's fast forward kernels.
constexpr int64_t most_forward_columns = 14;

// The gradient with turned windows: x has the place of dy, and y that of dx.
InnerProblem<Conv2dBackwardData> turned(const Problem& p, const ConvGeometry& g) {
    Pair padding;
    for (size_t i : {0, 1}) padding[i] = (g.kernel[i] - 1) * g.dilation[i] - g.padding[i];
    return {p,
            {.padding = padding, .dilation = g.dilation, .groups = g.groups},
            {p.inputs[1], p.inputs[0]},
            {p.outputs[0]}};
}

struct TurnedState {
    ConvGeometry g;
    Activation activation;
    int64_t block;         // channels side by side; 1 in plain images
    size_t weight_floats;  // at the start of the workspace, before that of `inner`
    Prepared inner;
};

Support supports_turned(const Problem& p) {
    if (Support floats = is_of_f32(p); !floats) return floats;
    if (!has_fast_library() || cpu_isa() >= Isa::avx512)
        return {"vectors of 128 and 256 bits on x86-64 only"};
    if (!p.inputs[1].layout.is_plain()) return {"plain weights only"};
    if (p.has_input(3)) return {"a residual, whose memory y may have"};
    const auto g = forward_geometry(p);
    if (g.groups == 1 || g.ic != 1 || g.oc != 1) return {"a window for each channel only"};
    if (g.stride != Pair{1, 1}) return {"stride 1 only"};
    if (g.kernel[1] <= most_forward_columns) return {"windows wider than 14 only"};
    for (size_t i : {0, 1})
        if (g.padding[i] > (g.kernel[i] - 1) * g.dilation[i]) return {"less padding than the window only"};
    const bool is_plain = p.inputs[0].layout.is_plain() && p.outputs[0].layout.is_plain();
    if (!is_plain)
        if (Support blocks = uses_channel_blocks(p); !blocks) return blocks;
    if (!is_plain && g.groups % channel_block() != 0) return {"full blocks of channels only"};
    return onednn_conv2d_backward_data().supports(turned(p, g).problem);
}

std::vector<Candidate> turned_candidates(const Problem& p) {
    auto list = onednn_conv2d_backward_data().candidates(turned(p, forward_geometry(p)).problem);
    std::erase_if(list, [](auto& candidate) { return candidate.attributes.locks; });  // general products
    for (auto& candidate : list) candidate.name.insert(0, turned_prefix);
    return list;
}

Prepared prepare_turned(const PrepareContext& context) {
    constexpr size_t alignment_floats = 16;
    auto& p = context.problem;
    const auto g = forward_geometry(p);
    const auto inner = turned(p, g);
    Candidate candidate = context.candidate;
    candidate.name.erase(0, turned_prefix.size());
    const auto weight = size_t(p.inputs[1].numel());
    TurnedState s{g, p.as<Conv2d::Params>().activation, p.inputs[0].layout.is_plain() ? 1 : channel_block(),
                  round_up(weight, alignment_floats),
                  onednn_conv2d_backward_data().prepare({inner.problem, candidate, {}, context.select})};
    const size_t workspace = s.weight_floats * sizeof(float) + s.inner.workspace();
    return Prepared::make(std::move(s), workspace);
}

// Adds the bias and activates.
void finish(const TurnedState& s, const Launch& launch) {
    const float* bias = launch.in_if_given<float>(2);
    if (!bias && s.activation == Activation::none) return;
    const int64_t pixels = s.g.out[0] * s.g.out[1], floats = pixels * s.block, planes = s.g.groups / s.block;
    par_for(launch.threads, s.g.n * planes, parallel_grain / floats + 1, [&](int64_t begin, int64_t end) {
        for (int64_t plane = begin; plane < end; ++plane) {
            float* y = launch.out<float>(0) + plane * floats;
            const float* added = bias ? bias + plane % planes * s.block : nullptr;
            for (int64_t i = 0; added && i < floats; i += s.block)
                for (int64_t c = 0; c < s.block; ++c) y[i + c] += added[c];
            cpu::activate(s.activation, y, floats);
        }
    });
}

void run_turned(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<TurnedState>();
    const int64_t window = s.g.kernel[0] * s.g.kernel[1];
    auto* turned = static_cast<float*>(launch.workspace);
    const float* weight = launch.in<float>(1);
    for (int64_t c = 0; c < s.g.groups; ++c)
        std::reverse_copy(weight + c * window, weight + (c + 1) * window, turned + c * window);
    const std::array<const void*, 2> inputs{turned, launch.inputs[0]};
    const std::array<void*, 1> outputs{launch.outputs[0]};
    onednn_conv2d_backward_data().run(s.inner, {inputs, outputs, turned + s.weight_floats, launch.threads});
    finish(s, launch);
}

}  // namespace

Algorithm turned_depthwise_conv2d() {
    return {"turned", supports_turned, prepare_turned, run_turned, {}, turned_candidates};
}

}  // namespace mge::ops
