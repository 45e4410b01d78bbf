// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/roll/roll.h"

#include <algorithm>

#include "libmge/base/number_text.h"

namespace mge::ops {

TensorSpecs Roll::infer(const Params& p, Specs in) {
    if (p.shifts.size() != p.axes.size())
        throw_value_error(name, counted(p.shifts.size(), "shift"), " for ",
                          counted(p.axes.size(), "axis", "axes"));
    for (int64_t axis : p.axes) normalize_axis(name, axis, in[0].shape.rank());
    return {in[0]};
}

Tensors Roll::gradient(const GradientContext<Params>& g) {
    Params back = g.params;
    for (int64_t& shift : back.shifts) shift = -shift;
    return g.result({{"x", roll(g.output_grad(), back)}});
}

IntList roll_shifts(const Roll::Params& p, const Shape& shape) {
    IntList shifts(size_t(shape.rank()), 0);
    for (size_t i = 0; i < p.axes.size(); ++i) {
        const int axis = normalize_axis(Roll::name, p.axes[i], shape.rank());
        const int64_t extent = std::max<int64_t>(shape[axis], 1);
        int64_t& shift = shifts[size_t(axis)];
        shift = (shift + p.shifts[i] % extent + extent) % extent;
    }
    return shifts;
}

std::vector<StridedCopy> plan_roll(const Problem& problem) {
    auto& x = problem.inputs[0];
    const IntList shifts = roll_shifts(problem.as<Roll::Params>(), x.shape);
    const Strides strides = dense_strides(x.shape);
    struct Part {
        Shape shape;
        int64_t source = 0, target = 0;
    };
    std::vector<Part> parts{{x.shape}};
    for (int axis = 0; axis < x.shape.rank(); ++axis) {
        const int64_t shift = shifts[size_t(axis)], rest = x.shape[axis] - shift,
                      stride = strides[size_t(axis)];
        if (shift == 0) continue;
        for (size_t i = 0, count = parts.size(); i < count; ++i) {
            Part front = parts[i];
            front.shape.set(axis, shift);
            front.source += rest * stride;
            parts[i].shape.set(axis, rest);
            parts[i].target += shift * stride;
            parts.push_back(std::move(front));
        }
    }
    std::vector<StridedCopy> copies;
    for (auto& part : parts)
        copies.emplace_back(size_of(x.dtype), part.shape, StridedSide{part.source, strides},
                            StridedSide{part.target, strides});
    return copies;
}

}  // namespace mge::ops
