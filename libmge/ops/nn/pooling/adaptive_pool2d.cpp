// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/pooling/adaptive_pool2d.h"

namespace mge::ops {

namespace {

template <class Op>
Shape adaptively_pooled_shape(const typename Op::Params& p, Specs in) {
    check_pool_dtype(Op::name, in[0]);
    return adaptive_pool_shape(Op::name, in[0].shape, {p.height, p.width});
}

// Each result, or each element of its gradient, comes from or goes to a whole window of x.
template <class Op>
double window_operations(const typename Op::Params& p, const TensorSpec& x, const TensorSpec& results) {
    return element_count(results) *
           window_area(adaptive_pool_geometry(Op::name, x.shape, {p.height, p.width}).kernel);
}

}  // namespace

TensorSpecs AdaptiveMaxPool2d::infer(const Params& p, Specs in) {
    return {{in[0].dtype, adaptively_pooled_shape<AdaptiveMaxPool2d>(p, in), {}}};
}

Tensors AdaptiveMaxPool2d::gradient(const GradientContext<Params>& g) {
    Tensor dx = adaptive_max_pool2d_backward(g.input("x"), g.output(), g.output_grad(), g.params);
    return g.result({{"x", dx}});
}

TensorSpecs AdaptiveMaxPool2dBackward::infer(const Params& p, Specs in) {
    Shape y = adaptively_pooled_shape<AdaptiveMaxPool2dBackward>(p, in);
    check_pool_input(name, "y", in[1], {in[0].dtype, y, {}});
    check_pool_input(name, "dy", in[2], {in[0].dtype, y, {}});
    return {{in[0].dtype, in[0].shape, {}}};
}

// Linear in dy. Which elements are the largest does not change with small changes of x.
Tensors AdaptiveMaxPool2dBackward::gradient(const GradientContext<Params>& g) {
    Tensor selected = adaptive_max_pool2d_select(g.input("x"), g.input("y"), g.output_grad(), g.params);
    return g.result({{"dy", selected}});
}

TensorSpecs AdaptiveMaxPool2dSelect::infer(const Params& p, Specs in) {
    Shape y = adaptively_pooled_shape<AdaptiveMaxPool2dSelect>(p, in);
    check_pool_input(name, "y", in[1], {in[0].dtype, y, {}});
    check_pool_input(name, "v", in[2], {in[0].dtype, in[0].shape, {}});
    return {{in[2].dtype, y, {}}};
}

Tensors AdaptiveMaxPool2dSelect::gradient(const GradientContext<Params>& g) {
    Tensor scattered = adaptive_max_pool2d_backward(g.input("x"), g.input("y"), g.output_grad(), g.params);
    return g.result({{"v", scattered}});
}

TensorSpecs AdaptiveAvgPool2d::infer(const Params& p, Specs in) {
    return {{in[0].dtype, adaptively_pooled_shape<AdaptiveAvgPool2d>(p, in), {}}};
}

Tensors AdaptiveAvgPool2d::gradient(const GradientContext<Params>& g) {
    Tensor dx = adaptive_avg_pool2d_backward(g.input("x"), g.output_grad(), g.params);
    return g.result({{"x", dx}});
}

TensorSpecs AdaptiveAvgPool2dBackward::infer(const Params& p, Specs in) {
    check_pool_input(name, "dy", in[1],
                     {in[0].dtype, adaptively_pooled_shape<AdaptiveAvgPool2dBackward>(p, in), {}});
    return {{in[1].dtype, in[0].shape, {}}};
}

Tensors AdaptiveAvgPool2dBackward::gradient(const GradientContext<Params>& g) {
    Tensor averaged = adaptive_avg_pool2d(g.output_grad(), g.params);
    return g.result({{"dy", averaged}});
}

double AdaptiveMaxPool2d::operations(const Params& p, Specs in, Specs out) {
    return window_operations<AdaptiveMaxPool2d>(p, in[0], out[0]);
}
double AdaptiveMaxPool2dBackward::operations(const Params& p, Specs in, Specs) {
    return window_operations<AdaptiveMaxPool2dBackward>(p, in[0], in[2]);
}
double AdaptiveMaxPool2dSelect::operations(const Params& p, Specs in, Specs out) {
    return window_operations<AdaptiveMaxPool2dSelect>(p, in[0], out[0]);
}
double AdaptiveAvgPool2d::operations(const Params& p, Specs in, Specs out) {
    return window_operations<AdaptiveAvgPool2d>(p, in[0], out[0]);
}
double AdaptiveAvgPool2dBackward::operations(const Params& p, Specs in, Specs) {
    return window_operations<AdaptiveAvgPool2dBackward>(p, in[0], in[1]);
}

}  // namespace mge::ops
