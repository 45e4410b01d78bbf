// SPDX-License-Identifier: Apache-2.0
#pragma once
// Common rules of layer and group norm: parts of x have one mean each, with factors along them.

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

}  // namespace mge::ops
