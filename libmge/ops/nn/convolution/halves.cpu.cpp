// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/cpu/cpu_device.h"
#include "libmge/kernel/cpu/onednn/packed_weight.h"
#include "libmge/kernel/cpu/product/half_parts.h"
#include "libmge/kernel/select.h"
#include "libmge/ops/nn/convolution/channel_blocks.h"
#include "libmge/ops/nn/convolution/conv2d_algorithms.h"

namespace mge::ops {
namespace {

// Sums are short and pixels many where a layer has so few weights: with f32 copies of them, which need little
// memory, tiles (tiles.cpu.cpp) take 0.4 to 1.0 of the time.
constexpr int64_t few_weights = 1 << 14;

struct State {
    cpu::HalfProduct shape;
    cpu::HalfWindows windows;
    DType dtype;
    std::shared_ptr<const onednn::PackedWeight> weight;
};

Support supports(const Problem& p) {
    const DType dtype = p.inputs[0].dtype;
    if (!is_half(dtype)) return {"f16 and bf16 only"};
    for (auto specs : {p.inputs, p.outputs})
        for (auto& spec : specs) {
            if (spec.is_absent()) continue;
            if (spec.dtype != dtype) return {"one dtype for all operands"};
            if (spec.numel() == 0) return {"an empty tensor"};
        }
    if (!p.is_constant(1) || !p.inputs[1].layout.is_plain()) return {"constant plain weights only"};
    if (dtype == DType::f16 && cpu_isa() == Isa::sse4) return {"no instructions that widen f16"};
    const auto g = forward_geometry(p);
    if (g.groups != 1) return {"one group only"};
    if (g.ic < channel_block()) return {"few channels, most of a block would be empty"};
    if (p.inputs[1].numel() <= few_weights) return {"few weights, whose f32 copies need little memory"};
    return uses_channel_blocks(p);
}

// Packing only moves values, so f16 has the data type that oneDNN can move: bf16.
onednn::MemoryDesc desc_of(const ConvGeometry& g, dnnl_format_tag_t tag) {
    return onednn::tagged({g.oc, g.ic, g.kernel[0], g.kernel[1]}, tag, dnnl_bf16);
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    const auto g = forward_geometry(p);
    const int64_t depth = g.ic * g.kernel[0] * g.kernel[1];
    const auto used = desc_of(g, dnnl_Acdb32a);
    State state{{g.n * g.out[0] * g.out[1], g.oc, depth, depth * cpu::HalfProduct::panel_columns,
                 p.as<Conv2d::Params>().activation},
                {channel_block(), g.ic, g.in, g.out, g.kernel, g.stride, g.dilation, g.padding},
                p.inputs[0].dtype,
                onednn::pack_weight(desc_of(g, dnnl_abcd), used, context.constants[1], p.threads,
                                    packing_of(context))};
    PackedInputs packed{{{state.weight->data(), used.bytes()}}, 1u << 1};
    return Prepared::make(std::move(state), 0, std::move(packed));
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    cpu::run_half_product(s.shape, s.dtype, s.weight->data(), launch, s.windows);
}

}  // namespace

Algorithm half_conv2d() { return {"packed_halves", supports, prepare, run}; }

}  // namespace mge::ops
