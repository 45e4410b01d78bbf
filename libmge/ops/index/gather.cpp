// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/gather.h"

#include "libmge/ops/create/full.h"

namespace mge::ops {
namespace {

void check_index(std::string_view who, int64_t axis, const TensorSpec& x, const TensorSpec& index) {
    if (index.dtype != DType::i32) throw_type_error(who, "the index must be int32, got ", index.dtype);
    int at = normalize_axis(who, axis, x.shape.rank());
    bool fits = index.shape.rank() == x.shape.rank();
    for (int i = 0; fits && i < x.shape.rank(); ++i)
        fits = i == at || can_be_at_least(who, x.shape.extent(i), index.shape.extent(i));
    if (!fits)
        throw_value_error(who, "index of shape ", index.shape, " does not fit ", x.shape,
                          ": it needs the same rank and, outside of axis ", at, ", no larger sizes");
}

TensorSpecs infer_scatter(std::string_view who, const Gather::Params& p, Specs in) {
    check_index(who, p.axis, in[0], in[1]);
    if (!can_be_same(who, in[1].shape, in[2].shape))
        throw_value_error(who, "index ", in[1].shape, " and source ", in[2].shape, " differ in shape");
    return {in[0]};
}

}  // namespace

TensorSpecs Gather::infer(const Params& p, Specs in) {
    check_index(name, p.axis, in[0], in[1]);
    return {{in[0].dtype, in[1].shape, {}}};
}
TensorSpecs Scatter::infer(const Params& p, Specs in) { return infer_scatter(name, p, in); }
TensorSpecs ScatterAdd::infer(const Params& p, Specs in) {
    if (in[0].dtype == DType::boolean) throw_type_error(name, "bool has no sum");
    return infer_scatter(name, p, in);
}

Tensors Gather::gradient(const GradientContext<Params>& g) {
    Tensor zeros = full_like(g.input("x"), {.value = 0});
    return g.result({{"x", scatter_add(zeros, g.input("index"), g.output_grad(), g.params)}});
}

Tensors Scatter::gradient(const GradientContext<Params>& g) {
    Tensor zeros = full_like(g.input("source"), {.value = 0}), dx, dsource;
    if (g.needs("x")) dx = scatter(g.output_grad(), g.input("index"), zeros, g.params);
    if (g.needs("source")) dsource = gather(g.output_grad(), g.input("index"), g.params);
    return g.result({{"x", dx}, {"source", dsource}});
}

Tensors ScatterAdd::gradient(const GradientContext<Params>& g) {
    Tensor dsource;
    if (g.needs("source")) dsource = gather(g.output_grad(), g.input("index"), g.params);
    return g.result({{"x", g.output_grad()}, {"source", dsource}});
}

}  // namespace mge::ops
