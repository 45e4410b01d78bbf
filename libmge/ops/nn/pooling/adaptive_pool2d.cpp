// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/pooling/adaptive_pool2d.h"

#include "libmge/op/define.h"

namespace mge::ops {

constinit const OpInfo AdaptiveMaxPool2d::info = define<AdaptiveMaxPool2d>();
constinit const OpInfo AdaptiveMaxPool2dBackward::info = define<AdaptiveMaxPool2dBackward>();
constinit const OpInfo AdaptiveAvgPool2d::info = define<AdaptiveAvgPool2d>();
constinit const OpInfo AdaptiveAvgPool2dBackward::info = define<AdaptiveAvgPool2dBackward>();

namespace {

template <class Op>
PoolGeometry geometry_of(const typename Op::Params& p, std::span<const TensorSpec> in) {
    check_pool_dtype(Op::name, in[0]);
    return adaptive_pool_geometry(Op::name, in[0].shape, {p.height, p.width});
}

}  // namespace

TensorSpecs AdaptiveMaxPool2d::infer(const Params& p, std::span<const TensorSpec> in) {
    return {{in[0].dtype, geometry_of<AdaptiveMaxPool2d>(p, in).y_shape(), {}}};
}

Tensors AdaptiveMaxPool2d::gradient(const GradientContext<Params>& g) {
    Tensor dx = adaptive_max_pool2d_backward(g.input("x"), g.output(), g.output_grad(),
                                             {.height = g.params.height, .width = g.params.width});
    return g.result({{"x", dx}});
}

TensorSpecs AdaptiveMaxPool2dBackward::infer(const Params& p, std::span<const TensorSpec> in) {
    Shape y = geometry_of<AdaptiveMaxPool2dBackward>(p, in).y_shape();
    check_pool_input(name, "y", in[1], y);
    check_pool_input(name, "dy", in[2], y);
    return {{in[0].dtype, in[0].shape, {}}};
}

TensorSpecs AdaptiveAvgPool2d::infer(const Params& p, std::span<const TensorSpec> in) {
    return {{in[0].dtype, geometry_of<AdaptiveAvgPool2d>(p, in).y_shape(), {}}};
}

Tensors AdaptiveAvgPool2d::gradient(const GradientContext<Params>& g) {
    Tensor dx = adaptive_avg_pool2d_backward(g.input("x"), g.output_grad(),
                                             {.height = g.params.height, .width = g.params.width});
    return g.result({{"x", dx}});
}

TensorSpecs AdaptiveAvgPool2dBackward::infer(const Params& p, std::span<const TensorSpec> in) {
    check_pool_input(name, "dy", in[1], geometry_of<AdaptiveAvgPool2dBackward>(p, in).y_shape());
    return {{in[1].dtype, in[0].shape, {}}};
}

}  // namespace mge::ops
