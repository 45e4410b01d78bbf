// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/convolution/conv2d.h"

#include <algorithm>

#include "libmge/ops/nn/convolution/geometry.h"
#include "libmge/ops/shape/reduce_to_shape.h"

namespace mge::ops {

namespace {

void check_dtype(std::string_view who, DType dtype) {
    if (!is_float(dtype)) throw_type_error(who, "takes float tensors, got ", dtype, "; convert with astype");
}

template <class To, class From>
To with_window_of(const From& from) {
    To to;
    to.stride = from.stride;
    to.padding = from.padding;
    to.dilation = from.dilation;
    to.groups = from.groups;
    return to;
}

void check_dy(std::string_view who, const Shape& y, const Shape& dy) {
    if (!can_be_same(who, dy, y))
        throw_user(who, text("dy must have the shape ", y, " of the result, got ", dy));
}

// The extent whose convolution gives `out`, and the smallest one of them.
Extent smallest_input(const Conv2dBackwardData::Params& p, const Shape& weight, const Shape& dy, int i) {
    Extent kernel = weight.extent(weight.rank() - 2 + i);
    return (dy.extent(2 + i) - 1) * p.stride[i] + (kernel - 1) * p.dilation[i] + 1 - 2 * p.padding[i];
}

Shape data_shape(const Conv2dBackwardData::Params& p, const Shape& weight, const Shape& dy) {
    auto who = Conv2dBackwardData::name;
    if (dy.rank() != 4 || (weight.rank() != 4 && weight.rank() != 5))
        throw_user(who,
                   text("takes a weight of rank 4 or 5 and dy of rank 4, got shapes ", weight, " and ", dy));
    Extent height = p.height ? p.height : smallest_input(p, weight, dy, 0);
    Extent width = p.width ? p.width : smallest_input(p, weight, dy, 1);
    if (!can_be_at_least(who, height, 1) || !can_be_at_least(who, width, 1))
        throw_user(who, text("the result would have the size ", height, " x ", width));
    Shape x = dy;
    x.set(1, weight.extent(weight.rank() - 3) * p.groups);
    x.set(2, height);
    x.set(3, width);
    return x;
}

void check_epilogue(const Shape& y, Specs in) {
    if (in.size() > 2 && !in[2].is_absent()) {
        Shape wanted{1, 1, 1, 1};
        wanted.set(1, y.extent(1));
        if (!can_be_same(Conv2d::name, in[2].shape, wanted))
            throw_user(Conv2d::name, text("its bias must have the shape ", wanted, ", got ", in[2].shape));
    }
    if (in.size() > 3 && !in[3].is_absent() && !can_be_same(Conv2d::name, in[3].shape, y))
        throw_user(Conv2d::name,
                   text("its residual must have the result's shape ", y, ", got ", in[3].shape));
}

}  // namespace

TensorSpecs Conv2d::infer(const Params& p, Specs in) {
    check_dtype(name, in[0].dtype);
    Shape y = conv_shape(name, window_of(p), in[0].shape, in[1].shape);
    check_epilogue(y, in);
    return {{in[0].dtype, y, {}}};
}

Tensors Conv2d::gradient(const GradientContext<Params>& g) {
    if (g.params.activation != Activation::none)
        throw UserError("[conv2d] gradients are taken before an activation is fused into it",
                        ErrorClass::not_implemented);
    const Tensor &x = g.input("x"), &weight = g.input("weight"), &dy = g.output_grad();
    Tensors result(g.inputs.size());
    if (g.needs("x"))
        result[0] = conv2d_backward_data(weight, dy, x, with_window_of<Conv2dBackwardData::Params>(g.params));
    if (g.needs("weight"))
        result[1] =
            conv2d_backward_weight(x, dy, weight, with_window_of<Conv2dBackwardWeight::Params>(g.params));
    if (result.size() > 2 && g.inputs[2]) result[2] = reduce_to_shape(dy, g.inputs[2]);
    if (result.size() > 3 && g.inputs[3]) result[3] = dy;
    return result;
}

TensorSpecs Conv2dBackwardData::infer(const Params& p, Specs in) {
    check_dtype(name, in[0].dtype);
    bool has_like = in.size() > 2 && !in[2].is_absent();
    Shape x = has_like ? in[2].shape : data_shape(p, in[0].shape, in[1].shape);
    check_dy(name, conv_shape(name, window_of(p), x, in[0].shape), in[1].shape);
    return {{in[0].dtype, x, {}}};
}

Tensors Conv2dBackwardData::gradient(const GradientContext<Params>& g) {
    const Tensor &weight = g.input("weight"), &dy = g.input("dy"), &ddx = g.output_grad();
    Tensors result(g.inputs.size());
    if (g.needs("weight"))
        result[0] =
            conv2d_backward_weight(ddx, dy, weight, with_window_of<Conv2dBackwardWeight::Params>(g.params));
    if (g.needs("dy")) result[1] = conv2d(ddx, weight, with_window_of<Conv2d::Params>(g.params));
    return result;
}

TensorSpecs Conv2dBackwardWeight::infer(const Params& p, Specs in) {
    check_dtype(name, in[0].dtype);
    check_dy(name, conv_shape(name, window_of(p), in[0].shape, in[2].shape), in[1].shape);
    return {{in[0].dtype, in[2].shape, {}}};
}

Tensors Conv2dBackwardWeight::gradient(const GradientContext<Params>& g) {
    const Tensor &x = g.input("x"), &dy = g.input("dy"), &ddw = g.output_grad();
    Tensors result(g.inputs.size());
    if (g.needs("x"))
        result[0] = conv2d_backward_data(ddw, dy, x, with_window_of<Conv2dBackwardData::Params>(g.params));
    if (g.needs("dy")) result[1] = conv2d(x, ddw, with_window_of<Conv2d::Params>(g.params));
    return result;
}

namespace {

// (…, channels per group, kh, kw): the multiply-adds behind each element of the convolution's result.
double window_size(const TensorSpec& weight) {
    double n = 1;
    for (int i = std::max(0, weight.shape.rank() - 3); i < weight.shape.rank(); ++i)
        n *= double(weight.shape[i]);
    return n;
}

}  // namespace

double Conv2d::operations(const Params&, Specs in, Specs out) {
    // Bias and residual add once per element each.
    double epilogue = double(is_given(in, 2)) + double(is_given(in, 3));
    return element_count(out[0]) * (2 * window_size(in[1]) + epilogue);
}
double Conv2dBackwardData::operations(const Params&, Specs in, Specs) {
    return 2 * element_count(in[1]) * window_size(in[0]);
}
double Conv2dBackwardWeight::operations(const Params&, Specs in, Specs out) {
    return 2 * element_count(in[1]) * window_size(out[0]);
}

}  // namespace mge::ops
