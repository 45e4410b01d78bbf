// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/one_hot.h"

#include "libmge/ops/create/full.h"

namespace mge::ops {
namespace {

// The shape of one element per place: x's with extent 1 along the axis.
Shape picked_shape(std::string_view who, int64_t axis, const TensorSpec& x, const TensorSpec& index) {
    if (index.dtype != DType::i32) throw_type_error(who, "the index must be int32, got ", index.dtype);
    int at = normalize_axis(who, axis, x.shape.rank());
    Shape places = x.shape, picked = x.shape;
    places.erase(at);
    picked.set(at, 1);
    if (!can_be_same(who, index.shape, places))
        throw_user(who, text("index has shape ", index.shape, ", expected ", places, ": that of x, ", x.shape,
                             ", without axis ", at));
    return picked;
}

}  // namespace

TensorSpecs OneHot::infer(const Params& p, Specs in) {
    if (in[0].dtype != DType::i32) throw_type_error(name, "the index must be int32, got ", in[0].dtype);
    if (p.num_classes < 1) throw_value_error(name, "num_classes is ", p.num_classes, ", it must be above 0");
    Shape shape = in[0].shape;
    shape.push_back(p.num_classes);
    return {{in[0].dtype, shape, {}}};
}

TensorSpecs IndexingOneHot::infer(const Params& p, Specs in) {
    return {{in[0].dtype, picked_shape(name, p.axis, in[0], in[1]), {}}};
}

TensorSpecs IndexingSetOneHot::infer(const Params& p, Specs in) {
    Shape picked = picked_shape(name, p.axis, in[0], in[1]);
    if (!can_be_same(name, in[2].shape, picked))
        throw_value_error(name, "value has shape ", in[2].shape, ", expected ", picked);
    return {in[0]};
}

Tensors IndexingOneHot::gradient(const GradientContext<Params>& g) {
    Tensor zeros = full_like(g.input("x"), {.value = 0});
    return g.result({{"x", indexing_set_one_hot(zeros, g.input("index"), g.output_grad(), g.params)}});
}

Tensors IndexingSetOneHot::gradient(const GradientContext<Params>& g) {
    Tensor zeros = full_like(g.input("value"), {.value = 0}), dx, dvalue;
    if (g.needs("x")) dx = indexing_set_one_hot(g.output_grad(), g.input("index"), zeros, g.params);
    if (g.needs("value")) dvalue = indexing_one_hot(g.output_grad(), g.input("index"), g.params);
    return g.result({{"x", dx}, {"value", dvalue}});
}

}  // namespace mge::ops
