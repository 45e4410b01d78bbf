// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/concat.h"

#include "libmge/ops/shape/split.h"

namespace mge::ops {

TensorSpecs Concat::infer(const Params& p, Specs in) {
    if (in.empty()) throw_value_error(name, "needs at least one tensor");
    TensorSpec out = in[0];
    int axis = normalize_axis(name, p.axis, out.shape.rank());
    for (auto& x : in.subspan(1)) {
        Shape expected = out.shape, got = x.shape;
        if (got.rank() == expected.rank()) expected.set(axis, got.extent(axis));
        if (!can_be_same(name, got, expected))
            throw_user(name,
                       text("shapes ", in[0].shape, " and ", x.shape, " differ outside of axis ", axis));
        out.shape.set(axis, out.shape.extent(axis) + x.shape.extent(axis));
    }
    return {out};
}

Tensors Concat::gradient(const GradientContext<Params>& g) {
    if (g.inputs.size() == 1) return {g.output_grad()};
    Tensors arguments{g.output_grad()};
    arguments.insert(arguments.end(), g.inputs.begin(), g.inputs.end());
    return split(arguments, {.axis = g.params.axis});
}

std::optional<PhysicalForm> Concat::physical_form(const Params& p, const Layout& layout, Specs in,
                                                  Specs out) {
    auto form = form_along_axis(name, p.axis, layout, in, out);
    if (!form) return std::nullopt;
    return PhysicalForm{std::make_shared<const Params>(Params{form->axis}), std::move(form->inputs),
                        std::move(form->outputs)};
}

std::vector<StridedCopy> plan_concat(const Problem& problem) {
    auto& y = problem.outputs[0];
    int axis = normalize_axis(Concat::name, problem.as<Concat::Params>().axis, y.shape.rank());
    std::vector<StridedCopy> parts;
    StridedSide target{0, dense_strides(y.shape)};
    for (auto& x : problem.inputs) {
        parts.emplace_back(size_of(y.dtype), x.shape, StridedSide{0, dense_strides(x.shape)}, target);
        target.offset += x.shape[axis] * target.strides[size_t(axis)];
    }
    return parts;
}

}  // namespace mge::ops
