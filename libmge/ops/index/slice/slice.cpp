// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/slice/slice.h"

#include "libmge/ops/create/full.h"
#include "libmge/ops/index/slice/assigned_value.h"
#include "libmge/ops/index/slice/slice_items.h"

namespace mge::ops {
namespace {

Slice::Params resolved(const char* who, const Slice::Params& p, std::span<const Tensor> values) {
    return {resolve_items(who, p.items, values)};
}

TensorSpecs infer_change(const char* who, const Slice::Params& p, Specs in) {
    Shape places = sliced_shape(who, p.items, in[0].shape);
    check_value_shape(who, in[1].shape, places);
    return {in[0]};
}

// `tensors`, then the bounds that the gradient rule was given.
template <class Params>
Tensors with_bounds(const GradientContext<Params>& g, Tensors tensors) {
    auto bounds = g.variadic_inputs();
    tensors.insert(tensors.end(), bounds.begin(), bounds.end());
    return tensors;
}

// The places of x that the ranges name.
StridedSide places_in(const Shape& x, const std::vector<AxisRange>& ranges) {
    Strides strides = dense_strides(x);
    StridedSide side;
    size_t kept = 0;
    for (size_t i = 0; i < ranges.size(); ++i) {
        side.offset += ranges[i].first * strides[i];
        if (ranges[i].dropped) continue;
        // A single element needs no stride; a huge step times a stride may not even fit.
        side.strides[kept++] = ranges[i].count > 1 ? ranges[i].step * strides[i] : 0;
    }
    return side;
}

template <class Params>
Tensor slice_value_gradient(const GradientContext<Params>& g) {
    if (!g.needs("value")) return {};
    Tensor read = slice(with_bounds(g, {g.output_grad()}), g.params);
    return sum_to_value(read, g.input("value"));
}

}  // namespace

TensorSpecs Slice::infer(const Params& p, Specs in) {
    return {{in[0].dtype, sliced_shape(name, p.items, in[0].shape), {}}};
}
TensorSpecs SetSlice::infer(const Params& p, Specs in) { return infer_change(name, p, in); }
TensorSpecs AddSlice::infer(const Params& p, Specs in) {
    if (in[0].dtype == DType::boolean) throw_type_error(name, "bool has no sum");
    return infer_change(name, p, in);
}

std::optional<int64_t> Slice::part_of_input(const Params& p, const TensorSpec& x) {
    return first_of_dense(ranges_of(name, p.items, x.shape), x.shape);
}

Slice::Params Slice::resolve(const Params& p, std::span<const Tensor> values) {
    return resolved(name, p, values);
}
Slice::Params SetSlice::resolve(const Params& p, std::span<const Tensor> values) {
    return resolved(name, p, values);
}
Slice::Params AddSlice::resolve(const Params& p, std::span<const Tensor> values) {
    return resolved(name, p, values);
}

Tensors Slice::gradient(const GradientContext<Params>& g) {
    Tensor zeros = full_like(g.input("x"), {.value = 0});
    return g.result({{"x", set_slice(with_bounds(g, {zeros, g.output_grad()}), g.params)}});
}

Tensors SetSlice::gradient(const GradientContext<Params>& g) {
    Tensor zero = full_like(g.input("value"), {.value = 0});
    Tensor dx = g.needs("x") ? set_slice(with_bounds(g, {g.output_grad(), zero}), g.params) : Tensor();
    return g.result({{"x", dx}, {"value", slice_value_gradient(g)}});
}

Tensors AddSlice::gradient(const GradientContext<Params>& g) {
    return g.result({{"x", g.output_grad()}, {"value", slice_value_gradient(g)}});
}

StridedCopy plan_slice(const Problem& problem) {
    auto &x = problem.inputs[0], &y = problem.outputs[0];
    auto ranges = ranges_of(Slice::name, problem.as<Slice::Params>().items, x.shape);
    return {size_of(x.dtype), y.shape, places_in(x.shape, ranges), {0, dense_strides(y.shape)}};
}

StridedCopy plan_slice_change(const Problem& problem) {
    auto &x = problem.inputs[0], &value = problem.inputs[1];
    auto ranges = ranges_of(problem.op, problem.as<Slice::Params>().items, x.shape);
    Shape places = shape_of_ranges(ranges), shape = check_value_shape(problem.op, value.shape, places);
    return {size_of(x.dtype), places, {0, broadcast_strides(shape, places)}, places_in(x.shape, ranges)};
}

}  // namespace mge::ops
