// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/convolution/channel_blocks.h"

#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/convolution/gathered_windows.h"
#include "libmge/kernel/cpu/onednn/packed_weight.h"
#include "libmge/kernel/select.h"

namespace mge::ops {

int64_t channel_block() { return cpu_isa() >= Isa::avx512 ? 16 : 8; }

Layout channel_blocks() { return Layout::named(channel_block() == 16 ? "nChw16c" : "nChw8c"); }

bool has_fast_library() { return dnnl_version()->major > 0 && cpu_isa() >= Isa::sse4; }

Support is_of_f32(const Problem& p) {
    for (auto specs : {p.inputs, p.outputs})
        for (auto& spec : specs) {
            if (!spec.is_absent() && spec.dtype != DType::f32) return {"f32 only"};
            if (spec.numel() == 0 && !spec.is_absent()) return {"an empty tensor"};
        }
    return supported;
}

Support has_constant_weights_of_f32(const Problem& p) {
    if (auto support = is_of_f32(p); !support) return support;
    if (!p.is_constant(1) || !p.inputs[1].layout.is_plain()) return {"constant plain weights only"};
    return supported;
}

Support has_channels_last_of_bf16(const Problem& p, const Layout& layout_of_x) {
    const Layout nhwc = Layout::named("nhwc");
    auto &x = p.inputs[0], &weight = p.inputs[1], &y = p.outputs[0];
    if (x.layout != layout_of_x || y.layout != nhwc) return {"images in the layout nhwc only"};
    if (p.has_input(3) && p.inputs[3].layout != nhwc) return {"a residual in another layout"};
    if (x.numel() == 0 || y.numel() == 0) return {"an empty image"};
    if (x.dtype != DType::bf16 || weight.dtype != DType::bf16) return {"bf16 factors only"};
    for (size_t i = 2; i < p.inputs.size(); ++i)
        if (p.has_input(i) && p.inputs[i].dtype != y.dtype)
            return {"bias and residual in the dtype of y only"};
    return weight.layout.is_plain() ? supported : Support{"plain weights only"};
}

Support uses_channel_blocks(const Problem& p) {
    const Layout blocks = channel_blocks();
    if (p.inputs[0].layout != blocks || p.outputs[0].layout != blocks) return {"blocks of channels only"};
    if (p.has_input(3) && p.inputs[3].layout != blocks) return {"a residual that lies as y does"};
    if (p.as<Conv2d::Params>().activation == Activation::sigmoid && p.outputs[0].shape[1] % channel_block())
        return {"sigmoid of channels that fill no block"};
    return supported;
}

cpu::GatheredWindows windows_of(const ConvGeometry& g) {
    auto pair = [](const Pair& of) { return std::array<int64_t, 2>{of[0], of[1]}; };
    return {g.ic, pair(g.in), pair(g.out), pair(g.kernel), pair(g.stride), pair(g.padding), pair(g.dilation)};
}

BlockedWeight pack_blocks(const PrepareContext& context, const ConvGeometry& g, int64_t block) {
    auto desc = [&](dnnl_format_tag_t tag) {
        return onednn::tagged({g.oc, g.ic, g.kernel[0], g.kernel[1]}, tag);
    };
    auto used = desc(block == 16 ? dnnl_Abcd16a : block == 8 ? dnnl_Abcd8a : dnnl_Abcd4a);
    auto weight = onednn::pack_weight(desc(dnnl_abcd), used, context.constants[1], context.problem.threads,
                                      packing_of(context));
    return {weight, {{{weight->data(), used.bytes()}}, 1u << 1}};
}

}  // namespace mge::ops
