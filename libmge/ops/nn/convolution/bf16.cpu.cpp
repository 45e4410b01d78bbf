// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/packed_values.h"
#include "libmge/ops/nn/convolution/bf16_convolution.cpu.h"
#include "libmge/ops/nn/convolution/channel_blocks.h"
#include "libmge/ops/nn/convolution/conv2d_algorithms.h"

namespace mge::ops {
namespace {

struct TilesConv {
    Bf16Windows windows;
    PackedValues<uint16_t> weight;  // empty if it changes

    // The place of a changing weight in the workspace, behind that of the windows.
    size_t weight_at() const { return (windows.workspace() + 63) / 64 * 64; }
};

// Images of a few colours, as models get them.
bool has_planes(const Problem& p) {
    auto& x = p.inputs[0];
    return x.layout.is_plain() && x.shape[1] <= most_colours;
}

Support supports_forward(const Problem& p) {
    if (!cpu::has_bf16_tiles()) return {"no matrix instructions"};
    const Layout x = has_planes(p) ? Layout() : Layout::named("nhwc");
    if (Support images = has_channels_last_of_bf16(p, x); !images) return images;
    const DType y = p.outputs[0].dtype;
    if (y != DType::bf16 && y != DType::f32) return {"results of bf16 or f32 only"};
    const auto g = forward_geometry(p);
    return g.groups == 1 ? suits_bf16(forward_convolution(g, has_planes(p))) : Support{"one group only"};
}

Support supports_backward(const Problem& p) {
    if (!cpu::has_bf16_tiles()) return {"no matrix instructions"};
    const Layout nhwc = Layout::named("nhwc");
    auto &weight = p.inputs[0], &dy = p.inputs[1], &dx = p.outputs[0];
    if (dy.layout != nhwc || dx.layout != nhwc) return {"images in the layout nhwc only"};
    if (dy.numel() == 0 || dx.numel() == 0) return {"an empty image"};
    if (dy.dtype != DType::bf16 || weight.dtype != DType::bf16) return {"bf16 only"};
    if (!weight.layout.is_plain()) return {"plain weights only"};
    const auto g = backward_data_geometry(p);
    if (g.groups != 1) return {"one group only"};
    const auto gradient = data_gradient(g);
    return gradient ? suits_bf16(*gradient) : Support{"windows that step over pixels and have gaps"};
}

Prepared prepare_convolution(const PrepareContext& context, Bf16Convolution convolution, size_t weight) {
    auto& p = context.problem;
    convolution.finish.dtype = p.outputs[0].dtype;
    convolution.threads = p.threads;
    TilesConv c{.windows = Bf16Windows(std::move(convolution)), .weight = {}};
    if (!p.is_constant(weight)) {
        const size_t workspace = c.weight_at() + size_t(c.windows.weight_size()) * sizeof(uint16_t);
        return Prepared::make(std::move(c), workspace);
    }
    c.weight = PackedValues<uint16_t>(c.windows.weight_size());
    c.windows.pack(static_cast<const uint16_t*>(context.constants[weight]), c.weight.data());
    PackedInputs packed{{c.weight.piece()}, 1u << weight};
    const size_t workspace = c.windows.workspace();
    return Prepared::make(std::move(c), workspace, std::move(packed));
}

Prepared prepare_forward(const PrepareContext& context) {
    auto& p = context.problem;
    Bf16Convolution c = forward_convolution(forward_geometry(p), has_planes(p));
    c.finish.activation = p.as<Conv2d::Params>().activation;
    return prepare_convolution(context, std::move(c), 1);
}

Prepared prepare_backward(const PrepareContext& context) {
    return prepare_convolution(context, *data_gradient(backward_data_geometry(context.problem)), 0);
}

void run_convolution(const TilesConv& c, Bf16Windows::Operands operands, void* workspace) {
    if (c.weight.empty()) {
        auto* packed = reinterpret_cast<uint16_t*>(static_cast<std::byte*>(workspace) + c.weight_at());
        c.windows.pack(operands.weight, packed);
        operands.weight = packed;
    } else {
        operands.weight = c.weight.data();
    }
    c.windows.run(operands, workspace);
}

void run_forward(const Prepared& prepared, const Launch& launch) {
    auto& c = prepared.state<TilesConv>();
    run_convolution(c,
                    {.x = launch.in<uint16_t>(0),
                     .weight = launch.in<uint16_t>(1),
                     .bias_dtype = c.windows.y_dtype(),
                     .bias = launch.in_if_given<void>(2),
                     .residual = launch.in_if_given<void>(3),
                     .y = launch.outputs[0]},
                    launch.workspace);
}

void run_backward(const Prepared& prepared, const Launch& launch) {
    run_convolution(prepared.state<TilesConv>(),
                    {.x = launch.in<uint16_t>(1),
                     .weight = launch.in<uint16_t>(0),
                     .bias_dtype = DType::none,
                     .bias = nullptr,
                     .residual = nullptr,
                     .y = launch.outputs[0]},
                    launch.workspace);
}

}  // namespace

Algorithm bf16_conv2d() { return {"amx_tiles", supports_forward, prepare_forward, run_forward}; }
Algorithm bf16_conv2d_backward_data() {
    return {"amx_tiles", supports_backward, prepare_backward, run_backward};
}

}  // namespace mge::ops
