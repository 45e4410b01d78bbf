// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/take.h"

#include <algorithm>

#include "libmge/base/number_text.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/index/slice/assigned_value.h"

namespace mge::ops {
namespace {

TensorSpecs infer_change(std::string_view who, const Take::Params& p, Specs in) {
    auto places = take_shape(who, p, in[0].shape, in.subspan(2));
    check_value_shape(who, in[1].shape, places.result);
    return {in[0]};
}

template <class Params>
Tensors with_indices(const GradientContext<Params>& g, Tensors tensors) {
    auto indices = g.variadic_inputs();
    tensors.insert(tensors.end(), indices.begin(), indices.end());
    return tensors;
}

template <class Params>
Tensor take_value_gradient(const GradientContext<Params>& g) {
    if (!g.needs("value")) return {};
    return sum_to_value(take(with_indices(g, {g.output_grad()}), g.params), g.input("value"));
}

}  // namespace

TakeShape take_shape(std::string_view who, const Take::Params& p, const Shape& x, Specs indices) {
    if (p.axes.size() != indices.size() || indices.empty())
        throw_user(who,
                   text("got ", counted(indices.size(), "index tensor"), " for ",
                        counted(p.axes.size(), "axis", "axes")),
                   ErrorClass::index);
    TakeShape take;
    for (size_t i = 0; i < indices.size(); ++i) {
        if (indices[i].dtype != DType::i32)
            throw_type_error(who, "indices must be int32, got ", indices[i].dtype);
        take.axes.push_back(normalize_axis(who, p.axes[i], x.rank()));
        take.indices = i ? broadcast_shapes(who, take.indices, indices[i].shape) : indices[i].shape;
    }
    bool rising =
        std::adjacent_find(take.axes.begin(), take.axes.end(), std::greater_equal<>()) == take.axes.end();
    if (!rising) throw_value_error(who, "axes ", to_text(ParamValue(p.axes)), " must be in ascending order");
    bool neighbours = take.axes.back() - take.axes.front() + 1 == int(take.axes.size());
    take.indices_at = neighbours ? take.axes.front() : 0;
    for (int i = 0; i < x.rank(); ++i)
        if (std::find(take.axes.begin(), take.axes.end(), i) == take.axes.end())
            take.result.push_back(x.extent(i));
    for (int i = 0; i < take.indices.rank(); ++i)
        take.result.insert(take.indices_at + i, take.indices.extent(i));
    return take;
}

TensorSpecs Take::infer(const Params& p, Specs in) {
    return {{in[0].dtype, take_shape(name, p, in[0].shape, in.subspan(1)).result, {}}};
}
TensorSpecs SetTake::infer(const Params& p, Specs in) { return infer_change(name, p, in); }
TensorSpecs AddTake::infer(const Params& p, Specs in) {
    if (in[0].dtype == DType::boolean) throw_type_error(name, "bool has no sum");
    return infer_change(name, p, in);
}

Tensors Take::gradient(const GradientContext<Params>& g) {
    Tensor zeros = full_like(g.input("x"), {.value = 0});
    return g.result({{"x", add_take(with_indices(g, {zeros, g.output_grad()}), g.params)}});
}

Tensors SetTake::gradient(const GradientContext<Params>& g) {
    Tensor zero = full_like(g.input("value"), {.value = 0});
    Tensor dx = g.needs("x") ? set_take(with_indices(g, {g.output_grad(), zero}), g.params) : Tensor();
    return g.result({{"x", dx}, {"value", take_value_gradient(g)}});
}

Tensors AddTake::gradient(const GradientContext<Params>& g) {
    return g.result({{"x", g.output_grad()}, {"value", take_value_gradient(g)}});
}

}  // namespace mge::ops
