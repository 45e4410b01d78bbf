// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/order/sort.h"

#include <algorithm>

#include "libmge/op/int32_places.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/index/gather.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::ops {

TensorSpecs Sort::infer(const Params& p, Specs in) {
    auto& shape = in[0].shape;
    require_int32_places(name, shape.extent(normalize_axis(name, p.axis, shape.rank())).lower());
    return {in[0], {DType::i32, shape, {}}};
}

TensorSpecs Topk::infer(const Params& p, Specs in) {
    Shape shape = in[0].shape;
    if (shape.rank() == 0) throw_user(name, "x needs at least one axis, got a scalar");
    const Extent length = shape.extent(shape.rank() - 1);
    if (p.k < 1) throw_user(name, text("k is ", p.k, ", it must be above 0"));
    if (!can_be_at_least(name, length, 1)) throw_user(name, text("x of shape ", shape, " has empty rows"));
    require_int32_places(name, length.lower());
    shape.set(shape.rank() - 1, min_of(p.k, length));
    if (p.kth_only) shape.erase(shape.rank() - 1);
    return {{in[0].dtype, shape, {}}, {DType::i32, shape, {}}};
}

Tensors Sort::gradient(const GradientContext<Params>& g) {
    if (!g.output_grad(0)) return g.result({});
    Tensor zeros = full_like(g.input("x"), {.value = 0});
    return g.result({{"x", scatter_add(zeros, g.output(1), g.output_grad(0), {.axis = g.params.axis})}});
}

Tensors Topk::gradient(const GradientContext<Params>& g) {
    if (!g.output_grad(0)) return g.result({});
    Tensor zeros = full_like(g.input("x"), {.value = 0}), indices = g.output(1), dy = g.output_grad(0);
    if (g.params.kth_only) {
        indices = add_axis(indices, {.axes = {-1}});
        dy = add_axis(dy, {.axes = {-1}});
    }
    return g.result({{"x", scatter_add(zeros, indices, dy, {.axis = -1})}});
}

}  // namespace mge::ops
