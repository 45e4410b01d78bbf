// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/convolution/conv2d_algorithms.h"

#include <algorithm>

#include "libmge/kernel/cpu/product/row_times_weight.h"
#include "libmge/kernel/select.h"
#include "libmge/ops/nn/convolution/geometry.h"

namespace mge::ops {
namespace {

struct State {
    Prepared row;
    int64_t channels, stored;  // channels of y; the padding of its layout is zero
};

int64_t floats(const TensorSpec& spec) { return int64_t(spec.bytes() / sizeof(float)); }

Support supports(const Problem& p) {
    for (auto specs : {p.inputs, p.outputs})
        for (auto& spec : specs)
            if (!spec.is_absent() && spec.dtype != DType::f32) return {"f32 only"};
    if (!p.is_constant(1) || !p.inputs[1].layout.is_plain()) return {"constant plain weights only"};
    auto g = forward_geometry(p);
    if (g.n != 1 || g.groups != 1) return {"one image and one group only"};
    const Pair none{0, 0}, one{1, 1};
    if (g.in != one || g.out != one || g.kernel != one || g.padding != none) return {"one pixel only"};
    if (g.oc == 0 || g.ic == 0) return {"an empty operand"};
    if (g.oc * g.ic > cpu::row_weight_limit) return {"a matrix that no cache keeps"};
    return supported;
}

// All layouts of images put the channels of one pixel side by side.
Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    auto g = forward_geometry(p);
    State state{cpu::prepare_row({g.oc, g.ic, 1, g.ic, p.as<Conv2d::Params>().activation},
                                 context.constants[1], 1, p.threads, packing_of(context)),
                g.oc, floats(p.outputs[0])};
    PackedInputs packed = state.row.packed();
    return Prepared::make(std::move(state), 0, std::move(packed));
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<State>();
    auto* y = launch.out<float>(0);
    cpu::run_row(s.row, {launch.in<float>(0), launch.in_if_given<float>(2), launch.in_if_given<float>(3), y},
                 launch.threads);
    std::fill(y + s.channels, y + s.stored, 0.f);
}

}  // namespace

Algorithm one_pixel_conv2d() { return {"one_pixel", supports, prepare, run}; }

}  // namespace mge::ops
