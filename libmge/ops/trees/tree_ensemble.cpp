// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/trees/tree_ensemble.h"

#include <array>

namespace mge::ops {

namespace {

void require(size_t input, const TensorSpec& got, DType dtype, const Shape& shape) {
    if (got.dtype == dtype && got.shape == shape) return;
    throw_value_error(TreeEnsemble::name, TreeEnsemble::info.inputs[input].name, " must be ", dtype,
                      " of shape ", shape, ", got ", got);
}

int64_t first_extent(const TensorSpec& spec) { return spec.shape.rank() ? spec.shape[0] : 0; }

}  // namespace

TensorSpecs TreeEnsemble::infer(const Params& p, Specs in) {
    if (in[0].dtype != DType::f32 || in[0].shape.rank() != 2)
        throw_value_error(name, "x must be float32 of shape (n, features), got ", in[0]);
    if (p.targets < 1) throw_value_error(name, "targets is ", p.targets);
    int64_t nodes = first_extent(in[1]), weights = first_extent(in[7]);
    require(1, in[1], DType::u8, {nodes});
    require(2, in[2], DType::i32, {nodes});
    require(3, in[3], DType::f32, {nodes});
    require(4, in[4], DType::i32, {nodes, 2});
    require(5, in[5], DType::u8, {nodes});
    require(6, in[6], DType::i32, {first_extent(in[6])});
    require(7, in[7], DType::i32, {weights});
    require(8, in[8], DType::f32, {weights});
    Shape y = in[0].shape;
    y.set(1, p.targets);
    return {{DType::f32, y, {}}};
}

}  // namespace mge::ops
