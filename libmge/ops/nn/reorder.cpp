// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/reorder.h"

#include "libmge/op/define.h"

namespace mge::ops {

constinit const OpInfo Reorder::info = define<Reorder>();

TensorSpecs Reorder::infer(const Params& p, std::span<const TensorSpec> in) {
    Layout layout = p.layout == "plain" ? Layout() : Layout::named(p.layout);
    constexpr int image_rank = 4;
    if (!layout.is_plain() && in[0].shape.rank() != image_rank)
        throw_user(name, text("layout '", p.layout, "' is one of images (N, C, H, W), got ", in[0].shape));
    return {{in[0].dtype, in[0].shape, layout}};
}

Tensors Reorder::gradient(const GradientContext<Params>& g) {
    return g.result({{"x", reorder(g.output_grad(), {.layout = g.input("x").spec().layout.name()})}});
}

}  // namespace mge::ops
