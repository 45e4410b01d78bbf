// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/layout/reorder_plan.h"

#include <algorithm>
#include <utility>

#include "libmge/base/numbers/ceil_div.h"

namespace mge::ops {
namespace {

bool pads(const TensorSpec& spec) { return spec.bytes() > size_t(spec.numel()) * size_of(spec.dtype); }

// The two layouts may both have blocks only when these are the same; index i = q * block + r.
int64_t common_block(const AxisPlaces& from, const AxisPlaces& to) { return std::max(from.block, to.block); }

int64_t whole_stride(const AxisPlaces& axis, int64_t block) {
    return axis.block == block ? axis.outer : block * axis.outer;
}
int64_t part_stride(const AxisPlaces& axis, int64_t block) {
    return axis.block == block && block > 1 ? axis.inner : axis.outer;
}

// The elements whose index in `split` (an axis with blocks, or −1) is in whole blocks, or in the last one.
StridedCopy copy_part(const TensorSpec& x, const ElementPlaces& from, const ElementPlaces& to, int split,
                      bool is_tail) {
    Shape shape;
    StridedSide source, target;
    auto add = [&](int64_t extent, int64_t from_stride, int64_t to_stride) {
        source.strides[size_t(shape.rank())] = from_stride;
        target.strides[size_t(shape.rank())] = to_stride;
        shape.push_back(extent);
    };
    for (int i = 0; i < x.shape.rank(); ++i) {
        auto &a = from[size_t(i)], &b = to[size_t(i)];
        int64_t block = common_block(a, b), whole = x.shape[i] / block;
        if (i == split && is_tail) {
            source.offset = whole * whole_stride(a, block);
            target.offset = whole * whole_stride(b, block);
            add(x.shape[i] % block, part_stride(a, block), part_stride(b, block));
            continue;
        }
        add(whole, whole_stride(a, block), whole_stride(b, block));
        if (block > 1) add(block, part_stride(a, block), part_stride(b, block));
    }
    return {size_of(x.dtype), shape, source, target};
}

}  // namespace

std::optional<ElementPlaces> places_of(const TensorSpec& spec) {
    ElementPlaces places;
    if (spec.layout.is_plain()) {
        Strides strides = dense_strides(spec.shape);
        for (int i = 0; i < spec.shape.rank(); ++i) places[size_t(i)].outer = strides[size_t(i)];
        return places;
    }
    for (int i = 0; i < spec.layout.size(); ++i) {
        auto digit = spec.layout[i];
        if (digit.block && std::exchange(places[digit.axis].block, digit.block) != 1) return std::nullopt;
    }
    int64_t stride = 1;
    for (int i = spec.layout.size() - 1; i >= 0; --i) {
        auto digit = spec.layout[i];
        auto& axis = places[digit.axis];
        (digit.block ? axis.inner : axis.outer) = stride;
        int64_t extent = spec.shape[digit.axis];
        stride *= digit.block ? digit.block : ceil_div(extent, axis.block);
    }
    return places;
}

Support has_places(const Problem& problem) {
    if (!places_of(problem.inputs[0]) || !places_of(problem.outputs[0]))
        return {"an axis has several blocks"};
    return supported;
}

Support supports_reorder_plan(const Problem& problem) {
    if (auto support = has_places(problem); !support) return support;
    ElementPlaces from = *places_of(problem.inputs[0]), to = *places_of(problem.outputs[0]);
    for (int i = 0; i < problem.inputs[0].shape.rank(); ++i) {
        auto &a = from[size_t(i)], &b = to[size_t(i)];
        if (a.block != 1 && b.block != 1 && a.block != b.block) return {"blocks of different sizes"};
    }
    return supported;
}

ReorderPlan plan_reorder(const Problem& problem) {
    auto &x = problem.inputs[0], &y = problem.outputs[0];
    ElementPlaces from = *places_of(x), to = *places_of(y);
    int split = -1;
    for (int i = 0; i < x.shape.rank(); ++i)
        if (common_block(from[size_t(i)], to[size_t(i)]) > 1) split = i;
    ReorderPlan plan;
    if (pads(y)) plan.zeroed = y.bytes();
    if (split < 0 || x.shape[split] >= common_block(from[size_t(split)], to[size_t(split)]))
        plan.copies.push_back(copy_part(x, from, to, split, false));
    if (split >= 0 && x.shape[split] % common_block(from[size_t(split)], to[size_t(split)]))
        plan.copies.push_back(copy_part(x, from, to, split, true));
    return plan;
}

}  // namespace mge::ops
