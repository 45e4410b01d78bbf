// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/split.h"

#include <algorithm>

#include "libmge/ops/create/full.h"
#include "libmge/ops/shape/concat.h"

namespace mge::ops {
namespace {

Extent extent_along(const TensorSpec& like, int axis, int rank) {
    if (like.shape.rank() != rank)
        throw_user(Split::name, text("a tensor of `likes` has rank ", like.shape.rank(), ", x has ", rank));
    return like.shape.extent(axis);
}

constexpr int64_t shares_the_rest = -1;

// The sum of the sizes that are numbers or extents of other tensors.
Extent sum_of(const IntList& sizes, const Extent& extent) {
    Extent total;
    for (int64_t raw : sizes) {
        if (raw == shares_the_rest) continue;
        if (raw < 0 && !Extent::is_handle(raw)) throw_value_error(Split::name, "size ", raw, " is negative");
        Extent size = Extent::from_raw(raw);
        // Once above the extent it stays there: a sum of hostile sizes must not overflow.
        bool is_above = size.is_number() && extent.is_number() && total.is_number() &&
                        size.number() > extent.number() - total.number();
        total = is_above ? extent + 1 : total + size;
    }
    return total;
}

}  // namespace

TensorSpecs Split::infer(const Params& p, Specs in) {
    auto& x = in[0];
    int axis = normalize_axis(name, p.axis, x.shape.rank());
    IntList sizes = p.sizes;
    if (in.size() > 1) sizes.clear();
    for (auto& like : in.subspan(1)) sizes.push_back(extent_along(like, axis, x.shape.rank()).raw());
    const Extent extent = x.shape.extent(axis), total = sum_of(sizes, extent);
    const int64_t sharing = std::ranges::count(sizes, shares_the_rest);
    bool fits = sharing ? can_be_at_least(name, extent, total) : can_be_equal(name, total, extent);
    if (sizes.empty() || !fits)
        throw_value_error(name, "sizes ", to_text(ParamValue(sizes)), " do not sum to the size ", extent,
                          " of axis ", axis);
    TensorSpecs parts(sizes.size(), x);
    int64_t longer = sharing;  // rounds the quotients of the first ones up
    for (size_t i = 0; i < sizes.size(); ++i)
        parts[i].shape.set(axis, sizes[i] == shares_the_rest ? floor_div(extent - total + --longer, sharing)
                                                             : Extent::from_raw(sizes[i]));
    return parts;
}

Tensors Split::gradient(const GradientContext<Params>& g) {
    Tensors grads(g.output_grads.begin(), g.output_grads.end());
    for (size_t i = 0; i < grads.size(); ++i)
        if (!grads[i]) grads[i] = full_like(g.output(i), {.value = 0});
    Tensors result(g.inputs.size());
    result[0] = grads.size() == 1 ? grads[0] : concat(grads, {.axis = g.params.axis});
    return result;
}

// Parts follow each other in memory where no axis before that of the cut has more than one place.
std::optional<int64_t> Split::part_of_input(const Params& p, const TensorSpec& x) {
    int axis = normalize_axis(name, p.axis, x.shape.rank());
    auto before = x.shape.dims().first(size_t(axis));
    bool is_dense = std::ranges::all_of(before, [](int64_t extent) { return extent <= 1; });
    return is_dense ? std::optional<int64_t>(0) : std::nullopt;
}

// Sizes count elements of the axis.
std::optional<PhysicalForm> Split::physical_form(const Params& p, const Layout& layout, Specs in, Specs out) {
    auto form = form_along_axis(name, p.axis, layout, in, out);
    if (!form) return std::nullopt;
    Params changed{form->axis, {}};
    for (auto& part : form->outputs) {
        Extent size = part.shape.extent(form->axis);
        changed.sizes.push_back(size.is_number() ? size.number() : shares_the_rest);
    }
    return PhysicalForm{std::make_shared<const Params>(std::move(changed)), std::move(form->inputs),
                        std::move(form->outputs)};
}

std::vector<StridedCopy> plan_split(const Problem& problem) {
    auto& x = problem.inputs[0];
    int axis = normalize_axis(Split::name, problem.as<Split::Params>().axis, x.shape.rank());
    std::vector<StridedCopy> parts;
    StridedSide source{0, dense_strides(x.shape)};
    for (auto& y : problem.outputs) {
        parts.emplace_back(size_of(x.dtype), y.shape, source, StridedSide{0, dense_strides(y.shape)});
        source.offset += y.shape[axis] * source.strides[size_t(axis)];
    }
    return parts;
}

}  // namespace mge::ops
