// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/pooling/pool2d.h"

namespace mge::ops {

namespace {

template <class Op>
Shape pooled_shape(const typename Op::Params& p, Specs in) {
    check_pool_dtype(Op::name, in[0]);
    return pool_shape(Op::name, in[0].shape, p.kernel, p.stride, p.padding);
}

}  // namespace

// Quantised values are in the order of the real numbers that they represent.
TensorSpecs MaxPool2d::infer(const Params& p, Specs in) {
    if (in[0].dtype == DType::u8 || in[0].dtype == DType::i8)
        return {{in[0].dtype, pool_shape(name, in[0].shape, p.kernel, p.stride, p.padding), {}}};
    return {{in[0].dtype, pooled_shape<MaxPool2d>(p, in), {}}};
}

Tensors MaxPool2d::gradient(const GradientContext<Params>& g) {
    Tensor dx = max_pool2d_backward(g.input("x"), g.output(), g.output_grad(), g.params);
    return g.result({{"x", dx}});
}

TensorSpecs MaxPool2dBackward::infer(const Params& p, Specs in) {
    Shape y = pooled_shape<MaxPool2dBackward>(p, in);
    check_pool_input(name, "y", in[1], {in[0].dtype, y, {}});
    check_pool_input(name, "dy", in[2], {in[0].dtype, y, {}});
    return {{in[0].dtype, in[0].shape, {}}};
}

// Linear in dy. Which elements are the largest does not change with small changes of x.
Tensors MaxPool2dBackward::gradient(const GradientContext<Params>& g) {
    Tensor selected = max_pool2d_select(g.input("x"), g.input("y"), g.output_grad(), g.params);
    return g.result({{"dy", selected}});
}

TensorSpecs MaxPool2dSelect::infer(const Params& p, Specs in) {
    Shape y = pooled_shape<MaxPool2dSelect>(p, in);
    check_pool_input(name, "y", in[1], {in[0].dtype, y, {}});
    check_pool_input(name, "v", in[2], {in[0].dtype, in[0].shape, {}});
    return {{in[2].dtype, y, {}}};
}

Tensors MaxPool2dSelect::gradient(const GradientContext<Params>& g) {
    Tensor scattered = max_pool2d_backward(g.input("x"), g.input("y"), g.output_grad(), g.params);
    return g.result({{"v", scattered}});
}

TensorSpecs AvgPool2d::infer(const Params& p, Specs in) {
    return {{in[0].dtype, pooled_shape<AvgPool2d>(p, in), {}}};
}

Tensors AvgPool2d::gradient(const GradientContext<Params>& g) {
    Tensor dx = avg_pool2d_backward(g.input("x"), g.output_grad(), g.params);
    return g.result({{"x", dx}});
}

TensorSpecs AvgPool2dBackward::infer(const Params& p, Specs in) {
    check_pool_input(name, "dy", in[1], {in[0].dtype, pooled_shape<AvgPool2dBackward>(p, in), {}});
    return {{in[1].dtype, in[0].shape, {}}};
}

Tensors AvgPool2dBackward::gradient(const GradientContext<Params>& g) {
    return g.result({{"dy", avg_pool2d(g.output_grad(), g.params)}});
}

// Each result, or each element of its gradient, comes from or goes to a whole window of x.
double MaxPool2d::operations(const Params& p, Specs, Specs out) {
    return element_count(out[0]) * window_area(p.kernel);
}
double MaxPool2dBackward::operations(const Params& p, Specs in, Specs) {
    return element_count(in[2]) * window_area(p.kernel);
}
double MaxPool2dSelect::operations(const Params& p, Specs, Specs out) {
    return element_count(out[0]) * window_area(p.kernel);
}
double AvgPool2d::operations(const Params& p, Specs, Specs out) {
    return element_count(out[0]) * window_area(p.kernel);
}
double AvgPool2dBackward::operations(const Params& p, Specs in, Specs) {
    return element_count(in[1]) * window_area(p.kernel);
}

}  // namespace mge::ops
