// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/reduce/reduce.h"

#include "libmge/device/device.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/elementwise/elementwise.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/shape/broadcast.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/shape_of.h"

namespace mge::ops {

namespace {

using Gradient = GradientContext<ReduceParams>;

Tensor kept(const Gradient& g, const Tensor& result) {
    return with_kept_axes(g.op.name, result, g.input("x"), g.params.axes, g.params.keepdims);
}

// Max and Min alike: wherever x is the result.
Tensors extreme_gradient(const Gradient& g) {
    const Tensor& x = g.input("x");
    if (!is_float(x.dtype())) return g.result({});
    Tensor dy = kept(g, g.output_grad());
    return g.result({{"x", where(equal(x, kept(g, g.output())), dy, constant_like(dy, 0))}});
}

}  // namespace

std::array<bool, max_rank> reduced_axes(std::string_view name, const IntList& axes, int rank) {
    std::array<bool, max_rank> reduced{};
    if (axes.empty()) std::fill_n(reduced.begin(), rank, true);
    for (int64_t given : axes) {
        auto& axis = reduced[size_t(normalize_axis(name, given, rank))];
        if (axis) throw_user(name, text("axis ", given, " is listed twice"), ErrorClass::assertion);
        axis = true;
    }
    return reduced;
}

Shape reduced_shape(const Shape& x, const std::array<bool, max_rank>& reduced, bool keepdims) {
    Shape y;
    for (int axis = 0; axis < x.rank(); ++axis)
        if (!reduced[size_t(axis)])
            y.push_back(x.extent(axis));
        else if (keepdims)
            y.push_back(1);
    return y;
}

Tensor with_kept_axes(std::string_view name, const Tensor& result, const Tensor& x, const IntList& axes,
                      bool keepdims) {
    int rank = x.shape().rank();
    if (keepdims || rank == 0) return result;
    auto reduced = reduced_axes(name, axes, rank);
    IntList missing;
    for (int axis = 0; axis < rank; ++axis)
        if (reduced[size_t(axis)]) missing.push_back(axis);
    return add_axis(result, {.axes = missing});
}

void require_elements(std::string_view name, const Shape& x, const std::array<bool, max_rank>& reduced) {
    for (int axis = 0; axis < x.rank(); ++axis)
        if (reduced[size_t(axis)] && !can_be_at_least(name, x.extent(axis), 1))
            throw_user(name, text("axis ", axis, " of shape ", x,
                                  " is empty, so it has no largest or smallest element"));
}

std::optional<BatchIndependence> reduce_independence(const ReduceParams& p, const TensorSpec& x) {
    for (int64_t axis : p.axes)
        if (!independent_unless_batch(axis, x)) return std::nullopt;
    return p.axes.empty() ? std::nullopt : std::optional(BatchIndependence{});
}

std::optional<PhysicalForm> reduced_form(std::string_view name, const ReduceParams& p, const Layout& layout,
                                         const TensorSpec& x, const TensorSpec& y) {
    auto digits = digits_of(x.shape, layout);
    // A single channel in blocks is padded to a whole block.
    bool is_padded = x.bytes() != size_t(x.numel()) * size_of(x.dtype);
    if (!digits || is_padded || !y.layout.is_plain()) return std::nullopt;
    auto is_reduced = reduced_axes(name, p.axes, x.shape.rank());
    ReduceParams physical;
    LayoutDigits remaining;
    for (size_t i = 0; i < digits->size(); ++i) {
        if (is_reduced[size_t((*digits)[i].axis)])
            physical.axes.push_back(int64_t(i));
        else
            remaining.push_back((*digits)[i]);
    }
    if (!is_also_plain(remaining)) return std::nullopt;
    return PhysicalForm{std::make_shared<const ReduceParams>(std::move(physical)),
                        {{x.dtype, shape_of_digits(*digits), {}}},
                        {{y.dtype, shape_of_digits(remaining), {}}}};
}

Tensor reduced_count(const Tensor& x, const IntList& axes) {
    auto reduced = reduced_axes("reduced_count", axes, x.shape().rank());
    double count = 1;
    Tensor product;
    for (int axis = 0; axis < x.shape().rank(); ++axis) {
        if (!reduced[size_t(axis)]) continue;
        count *= double(x.shape()[axis]);
        if (!x.is_symbolic()) continue;
        Tensor extent = convert_dtype(shape_of(x, {.axis = axis}), DType::f32);
        product = product ? mul(product, extent) : extent;
    }
    return product ? product : scalar_tensor(count, DType::f32, x.device());
}

Tensors Sum::gradient(const GradientContext<Params>& g) {
    const Tensor& x = g.input("x");
    if (!is_float(x.dtype())) return g.result({});
    return g.result({{"x", broadcast_like(kept(g, g.output_grad()), x)}});
}

Tensors Mean::gradient(const GradientContext<Params>& g) {
    const Tensor& x = g.input("x");
    if (!is_float(x.dtype())) return g.result({});
    Tensor share = div(kept(g, g.output_grad()), reduced_count(x, g.params.axes));
    return g.result({{"x", convert_dtype(broadcast_like(share, x), x.dtype())}});
}

// y / x: NaN where x is 0, as recorded from MegEngine.
Tensors Prod::gradient(const GradientContext<Params>& g) {
    const Tensor& x = g.input("x");
    if (!is_float(x.dtype())) return g.result({});
    return g.result({{"x", mul(kept(g, g.output_grad()), div(kept(g, g.output()), x))}});
}

Tensors Max::gradient(const GradientContext<Params>& g) { return extreme_gradient(g); }
Tensors Min::gradient(const GradientContext<Params>& g) { return extreme_gradient(g); }

}  // namespace mge::ops
