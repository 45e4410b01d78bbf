// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/steps.h"

#include <algorithm>

#include "libmge/device/device.h"
#include "libmge/model/import/onnx/operators/windows.h"
#include "libmge/ops/elementwise/activation.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/quantize/convolution/quantized_conv2d.h"
#include "libmge/ops/quantize/quantize.h"
#include "libmge/ops/quantize/quantized_add.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

// Walks from a value to its producers.
class Origin {
public:
    Origin(GraphBuilder& builder, const Tensor& t) : builder_(&builder), t_(t) {
        bool is_here = t && t.is_symbolic() && t.impl()->symbol_owner == &builder;
        NodeId id = is_here ? builder.graph().value(t.impl()->symbol).producer : NodeId(-1);
        if (id >= 0) node_ = builder.graph().node(id);
    }
    const Tensor& tensor() const { return t_; }
    template <class Op>
    bool is() const {
        return node_.op == &Op::info;
    }
    template <class Op>
    const typename Op::Params& params() const {
        return node_.as<typename Op::Params>();
    }
    // Null if it is absent.
    Tensor input(size_t i) const {
        if (i >= node_.inputs.size() || node_.inputs[i] == no_value) return {};
        auto& value = builder_->graph().value(node_.inputs[i]);
        return value.is_constant() ? value.constant : builder_->symbol(node_.inputs[i]);
    }
    Origin of(size_t i) const { return {*builder_, input(i)}; }
    // The constant behind an input in another shape or dtype; otherwise the input.
    Tensor constant_input(size_t i) const {
        Origin origin = of(i);
        while (origin.is<ops::Convert>() || origin.is<ops::AddAxis>() || origin.is<ops::Reshape>())
            origin = origin.of(0);
        bool is_constant = origin.tensor() && !origin.tensor().is_symbolic();
        return is_constant ? origin.tensor() : input(i);
    }
    // The input of a reshape.
    Origin behind_reshape() const { return is<ops::Reshape>() && !input(1) ? of(0) : *this; }

private:
    GraphBuilder* builder_;
    Tensor t_;
    Node node_{};
};

bool is_one(const Tensor& t) { return t.shape().is_known() && t.shape().numel() == 1; }
Tensor as_one(const Tensor& t) { return ops::reshape(t, {.shape = {1}}); }
Tensor as_zero(const Tensor& t) { return t ? as_one(as_dtype(t, DType::i32)) : Tensor(); }

std::optional<Steps> steps_of(const Origin& origin) {
    if (!origin.is<ops::Dequantize>()) return std::nullopt;
    Steps steps{origin.input(0), origin.input(1), origin.constant_input(2)};
    return is_byte(steps.values.dtype()) ? std::optional(steps) : std::nullopt;
}

// The zero point if all channels have the same one, null if that is 0, for constants; nullopt: they differ.
std::optional<Tensor> common_zero(const Tensor& zero) {
    if (!zero || (zero.is_symbolic() && is_one(zero))) return zero;
    if (zero.is_symbolic() || !zero.spec().numel()) return std::nullopt;
    IntList values = numbers_in(zero);
    bool is_same = std::ranges::all_of(values, [&](int64_t n) { return n == values[0]; });
    if (!is_same) return std::nullopt;
    return values[0] ? scalar_tensor(double(values[0]), DType::i32, host_device) : Tensor();
}

// Removes a following activation, and returns it.
Activation take_activation(Origin& origin) {
    if (origin.is<ops::Relu>()) {
        origin = origin.of(0);
        return Activation::relu;
    }
    if (!origin.is<ops::Relu6>()) return Activation::none;
    origin = origin.of(0);
    return Activation::relu6;
}

Tensor added(const Origin& sum, bool relu, const Steps& y) {
    auto a = steps_of(sum.of(0)), b = steps_of(sum.of(1));
    bool fits = a && b && is_one(a->scale) && is_one(b->scale) && have_one_shape(a->values, b->values);
    if (!fits) return {};
    return ops::quantized_add(
        {a->values, b->values, as_one(a->scale), as_one(b->scale), as_one(y.scale), as_zero(a->zero),
         as_zero(b->zero), as_zero(y.zero)},
        {.relu = relu, .dtype = y.values.dtype(), .rounding = ops::StepRounding::half_even});
}

// One value for each element of an axis, which counts from the end; `rank` is that of the sum.
bool is_along(const Tensor& bias, int axis, int64_t count, int rank) {
    auto& shape = bias.shape();
    bool has_axis = shape.is_known() && shape.rank() >= axis && shape.rank() <= rank;
    return has_axis && shape.numel() == count && shape[shape.rank() - axis] == count;
}

// In the product of both scales.
Tensor steps_of_bias(const Tensor& bias, const Steps& x, const Steps& weight) {
    Tensor scale = ops::mul(as_one(x.scale), ops::reshape(weight.scale, {.shape = {-1}}));
    return ops::quantize(ops::reshape(bias, {.shape = {-1}}), scale, Tensor(),
                         {.dtype = DType::i32, .rounding = ops::StepRounding::half_even});
}

// Convolutions along one axis, (N, C, L), are those of images of one row (as_images).
const IntList row_axes{2};
template <class Op>
bool has_row_axis(const Origin& origin) {
    return origin.is<Op>() && origin.params<Op>().axes == row_axes;
}
bool is_convolution(const Origin& origin) {
    if (has_row_axis<ops::RemoveAxis>(origin))
        return origin.of(0).is<ops::Conv2d>() && has_row_axis<ops::AddAxis>(origin.of(0).of(0));
    return origin.is<ops::Conv2d>();
}

Tensor convolved(const Origin& origin, const Tensor& bias, Activation activation, const Steps& y) {
    const bool is_image = origin.is<ops::Conv2d>();
    const int axes = is_image ? 2 : 1;
    const Origin convolution = is_image ? origin : origin.of(0), image = convolution.of(0),
                 weight = convolution.of(1);
    auto x = steps_of(is_image ? image : image.of(0)), w = steps_of(weight.behind_reshape());
    if (!x || !w || !is_one(x->scale)) return {};
    x->values = as_images(x->values, axes);
    w->values = ops::reshape(
        w->values, {.shape = IntList(weight.tensor().shape().begin(), weight.tensor().shape().end())});
    StepConvolution steps{*x, *w, {}, convolution.params<ops::Conv2d>()};
    steps.window.activation = activation;
    auto& shape = w->values.shape();
    int64_t channels = shape.rank() == 5 ? shape[0] * shape[1] : shape[0];
    if (bias && !is_along(bias, axes + 1, channels, axes + 2)) return {};
    if (bias) steps.bias = steps_of_bias(bias, *x, *w);
    Tensor result = convolved_steps(steps, y);
    return result ? as_given(result, axes) : result;
}

// Scales of a matrix that are one for each column, or one for all.
bool is_along_columns(const Tensor& scale, bool transposed) {
    if (is_one(scale)) return true;
    auto& shape = scale.shape();
    if (!shape.is_known() || shape.rank() > 2) return false;
    return transposed ? shape.rank() == 2 && shape[1] == 1 : shape.rank() == 1 || shape[0] == 1;
}

Tensor multiplied(const Origin& product, const Tensor& bias, Activation activation, const Steps& y) {
    auto a = steps_of(product.of(0)), b = steps_of(product.of(1));
    auto& p = product.params<ops::Matmul>();
    if (!a || !b || p.transpose_a || p.activation != Activation::none) return {};
    StepProduct steps{*a, *b, {}, p.transpose_b, activation};
    if (bias && !is_product_of_steps(steps)) return {};
    if (bias && !is_along(bias, 1, b->values.shape()[p.transpose_b ? 0 : 1], rank_of(a->values))) return {};
    if (bias) steps.bias = steps_of_bias(bias, *a, *b);
    return multiplied_steps(steps, y);
}

}  // namespace

bool is_product_of_steps(const StepProduct& p) {
    auto &a = p.a.values.shape(), &b = p.b.values.shape();
    bool has_rows = a.is_known() && a.rank() >= 2 && a.numel() > 0;
    bool has_matrix = !p.b.values.is_symbolic() && b.rank() == 2;
    return has_rows && has_matrix && is_byte(p.a.values.dtype()) && is_byte(p.b.values.dtype()) &&
           (!p.a.scale || (is_one(p.a.scale) && is_along_columns(p.b.scale, p.transposes_b)));
}

Tensor multiplied_steps(const StepProduct& p, const Steps& y) {
    if (!is_product_of_steps(p)) return {};
    Tensor weight = p.transposes_b ? p.b.values : Tensor(ops::transpose(p.b.values, {.pattern = {1, 0}}));
    int64_t columns = weight.shape()[0], rows = weight.shape()[1];
    StepConvolution steps{p.a, p.b, p.bias, {}};
    steps.x.values = ops::reshape(p.a.values, {.shape = {-1, rows, 1, 1}});
    steps.weight.values = ops::reshape(weight, {.shape = {columns, rows, 1, 1}});
    steps.window.activation = p.activation;
    Tensor result = convolved_steps(steps, y);
    if (!result) return {};
    std::vector<Extent> extents;
    for (int axis = 0; axis + 1 < rank_of(p.a.values); ++axis) {
        auto fixed = find_extent(p.a.values, axis);
        extents.push_back(fixed ? Extent(*fixed) : extent_of(p.a.values, axis));
    }
    extents.push_back(columns);
    return reshaped(result, extents);
}

bool have_one_shape(const Tensor& a, const Tensor& b) {
    Shape of_a = symbolic_shape(a), of_b = symbolic_shape(b);
    if (!of_a.is_known() || !of_b.is_known() || of_a.rank() != of_b.rank()) return false;
    for (int axis = 0; axis < of_a.rank(); ++axis)
        if (!of_a.extent(axis).is(of_b.extent(axis))) return false;
    return true;
}

bool is_byte(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

bool is_dequantised(const GraphBuilder& builder, const Tensor& t) {
    bool is_here = t.is_symbolic() && t.impl()->symbol_owner == &builder;
    NodeId id = is_here ? builder.graph().value(t.impl()->symbol).producer : NodeId(-1);
    return id >= 0 && builder.graph().node(id).op == &ops::Dequantize::info;
}

Tensor convolved_steps(const StepConvolution& c, const Steps& y) {
    auto zero = common_zero(c.weight.zero);
    if (!zero || (c.x.zero && !is_one(c.x.zero))) return {};
    ops::QuantizedConv2d::Params p{.stride = c.window.stride,
                                   .padding = c.window.padding,
                                   .dilation = c.window.dilation,
                                   .groups = c.window.groups,
                                   .activation = c.window.activation,
                                   .dtype = y.scale ? y.values.dtype() : DType::i32,
                                   .rounding = ops::StepRounding::half_even};
    Tensor scale =
        y.scale ? ops::mul(as_one(c.x.scale), ops::reshape(c.weight.scale, {.shape = {-1}})) : Tensor();
    Tensor none;
    return ops::quantized_conv2d(
        {c.x.values, c.weight.values, scale, c.bias, none, as_zero(c.x.zero), as_zero(*zero),
         y.scale ? as_one(y.scale) : none, as_zero(y.zero), none, none},
        p);
}

Tensor in_steps(GraphBuilder& builder, const Tensor& t, const Tensor& scale, const Tensor& zero,
                DType dtype) {
    if (!is_byte(dtype) || !is_one(scale) || (zero && !is_one(zero))) return {};
    // Only the dtype of the values is read.
    Steps y{scalar_tensor(0, dtype, host_device), scale, zero};
    Origin origin(builder, t);
    Activation activation = take_activation(origin);
    if (is_convolution(origin)) return convolved(origin, {}, activation, y);
    if (origin.is<ops::Matmul>()) return multiplied(origin, {}, activation, y);
    if (!origin.is<ops::Add>()) return {};
    if (origin.of(0).is<ops::Matmul>()) return multiplied(origin.of(0), origin.input(1), activation, y);
    if (is_convolution(origin.of(0))) return convolved(origin.of(0), origin.input(1), activation, y);
    return activation == Activation::relu6 ? Tensor() : added(origin, activation == Activation::relu, y);
}

}  // namespace mge::onnx
