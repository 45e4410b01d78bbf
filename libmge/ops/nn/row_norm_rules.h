// SPDX-License-Identifier: Apache-2.0
#pragma once
// Common rules of layer and group norm: parts of x have one mean each, with factors along them.

#include "libmge/op/apply.h"
#include "libmge/op/backend.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/nn/check_shape.h"
#include "libmge/ops/nn/norm_gradient.h"

namespace mge::ops {

struct RowNormShapes {
    Shape statistics, factor;
};

// From x, weight and bias.
inline TensorSpecs row_norm_specs(std::string_view who, std::span<const InputInfo> inputs, Specs in,
                                  const RowNormShapes& shapes) {
    for (size_t i = 1; i < in.size(); ++i) check_shape(who, inputs[i].name, in[i], shapes.factor);
    TensorSpec statistics{DType::f32, shapes.statistics, {}};
    return {{in[0].dtype, in[0].shape, {}}, statistics, statistics};
}

// From x, dy, mean, inv_std, weight, dmean and dinv_std.
inline TensorSpecs row_norm_backward_specs(std::string_view who, std::span<const InputInfo> inputs, Specs in,
                                           const RowNormShapes& shapes) {
    constexpr size_t weight = 4;
    check_shape(who, inputs[1].name, in[1], in[0].shape);
    for (size_t i = 2; i < in.size(); ++i)
        check_shape(who, inputs[i].name, in[i], i == weight ? shapes.factor : shapes.statistics);
    TensorSpec factor{in[0].dtype, shapes.factor, {}};
    return {{in[0].dtype, in[0].shape, {}}, factor, factor};
}

// Those of the same inputs, in their forms.
inline Tensors in_form_of_inputs(const NormBackwardGrads& grads, std::span<const Tensor> inputs) {
    const Tensor found[] = {grads.x,      grads.dy,    grads.mean,    grads.inv_std,
                            grads.weight, grads.dmean, grads.dinv_std};
    Tensors all;
    for (size_t i = 0; i < inputs.size(); ++i) all.push_back(in_form_of(found[i], inputs[i]));
    return all;
}

// O has `shapes(who, x, extent)`, where the extent is the first of its Params and those of Backward.
template <class O, class Backward>
struct RowNorm {
    static constexpr auto inputs = names("x", optional("weight"), optional("bias"));
    static constexpr auto outputs = output_names("y", "mean", "inv_std");
    static constexpr OpTraits traits{.promotion = Promotion::floating};
    // Mean, variance, difference, scale, weight and bias: as MegEngine's module statistics count them.
    static constexpr PerInputElement operations{7};

    static TensorSpecs infer(const auto& p, Specs in) {
        auto& [extent, epsilon] = p;
        return row_norm_specs(O::name, inputs, in, O::shapes(O::name, in[0], extent));
    }
    template <class P>
    static Tensors gradient(const GradientContext<P>& g) {
        const Tensor &x = g.input("x"), &weight = g.input("weight");
        Tensor dy = g.output_grad() ? g.output_grad() : full_like(x, {.value = 0});
        auto& [extent, epsilon] = g.params;
        Tensors grads = OpFunction<Backward, false>()(
            {x, dy, g.output(1), g.output(2), weight, g.output_grad(1), g.output_grad(2)}, {extent});
        return g.result({{"x", grads[0]},
                         {"weight", weight ? grads[1] : Tensor()},
                         {"bias", g.input("bias") ? grads[2] : Tensor()}});
    }
};

template <class O, class Forward>
struct RowNormBackward {
    static constexpr bool only_trains = true;
    // dmean, dinv_std: gradients of the statistics themselves, if they are used.
    static constexpr auto inputs =
        names("x", "dy", unpromoted("mean"), unpromoted("inv_std"), optional("weight"),
              InputInfo("dmean", InputKind::optional, false, false),
              InputInfo("dinv_std", InputKind::optional, false, false));
    static constexpr auto outputs = output_names("dx", "dweight", "dbias");
    static constexpr OpTraits traits{.promotion = Promotion::floating};
    static constexpr PerInputElement operations{7};
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const auto& p, Specs in) {
        auto& [extent] = p;
        return row_norm_backward_specs(O::name, inputs, in, Forward::shapes(O::name, in[0], extent));
    }
};

}  // namespace mge::ops
