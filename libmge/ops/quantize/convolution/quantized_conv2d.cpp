// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/quantize/convolution/quantized_conv2d.h"

#include "libmge/ops/nn/convolution/geometry.h"
#include "libmge/ops/quantize/quantisation.h"

namespace mge::ops {

namespace {

using Conv = QuantizedConv2d;

TensorSpec given(Specs in, size_t i) { return i < in.size() ? in[i] : TensorSpec{}; }

void check_bytes(const TensorSpec& spec, const char* what) {
    if (spec.dtype != DType::u8 && spec.dtype != DType::i8)
        throw_type_error(Conv::name, what, " must be quantised to uint8 or int8, got ", spec.dtype);
}

void check_one(Specs in, size_t i, DType dtype) {
    auto spec = given(in, i);
    if (spec.is_absent()) return;
    if (spec.dtype != dtype || !can_be_equal(Conv::name, spec.shape.elements(), 1))
        throw_user(Conv::name, text("its ", Conv::inputs[i].name, " must be one number of ", dtype, ", got ",
                                    spec.dtype, " of shape ", spec.shape));
}

void check_per_channel(const TensorSpec& spec, const Extent& channels, const char* what, DType dtype,
                       bool may_be_one) {
    Extent count = spec.shape.elements();
    bool fits = (may_be_one && count.is(1)) || can_be_equal(Conv::name, count, channels);
    if (spec.dtype != dtype || !fits)
        throw_user(Conv::name,
                   text("its ", what, " must be ", may_be_one ? "one number, or " : "", "one for each of ",
                        channels, " channels, of ", dtype, "; got ", spec.dtype, " of shape ", spec.shape));
}

void check_residual(Specs in, const Shape& y) {
    auto residual = given(in, Conv::residual);
    if (residual.is_absent()) return;
    if (!holds_steps(residual.dtype) || !can_be_same(Conv::name, residual.shape, y))
        throw_user(Conv::name, text("its residual must be quantised values of the result's shape ", y,
                                    ", got ", residual.dtype, " of shape ", residual.shape));
    if (given(in, Conv::residual_scale).is_absent())
        throw_user(Conv::name, "its residual needs a residual_scale");
}

}  // namespace

TensorSpecs QuantizedConv2d::infer(const Params& p, Specs in) {
    check_bytes(in[x], "x");
    check_bytes(in[weight], "weight");
    Shape y = conv_shape(name, window_of(p), in[x].shape, in[weight].shape);
    const Extent channels = y.extent(1);
    if (auto spec = given(in, bias); !spec.is_absent())
        check_per_channel(spec, channels, "bias", DType::i32, false);
    for (size_t i : {x_zero, weight_zero, y_zero, residual_zero, inner_zero}) check_one(in, i, DType::i32);
    for (size_t i : {y_scale, residual_scale, inner_scale}) check_one(in, i, DType::f32);
    check_residual(in, y);
    if (auto spec = given(in, shift); !spec.is_absent())
        check_per_channel(spec, channels, "shift", DType::f32, false);
    bool is_exact = given(in, y_scale).is_absent(), has_inner = !given(in, inner_scale).is_absent();
    if (is_exact) {
        if (p.activation != Activation::none || !given(in, residual).is_absent() || has_inner ||
            !given(in, shift).is_absent())
            throw_user(
                name,
                "activation, residual, shift and inner_scale need a y_scale: they apply to real numbers");
        return {{DType::i32, y, {}}};
    }
    if (has_inner && !is_byte(p.inner_dtype))
        throw_type_error(name, "its inner_dtype must be uint8 or int8, got ", p.inner_dtype);
    check_per_channel(given(in, scale), channels, "scale", DType::f32, true);
    step_range(name, p.dtype, p.lower, p.upper);
    return {{p.dtype, y, {}}};
}

double QuantizedConv2d::operations(const Params& p, Specs in, Specs out) {
    auto g = conv_geometry(name, window_of(p), in[x].shape, in[weight].shape);
    return 2 * element_count(out[0]) * double(g.ic * g.kernel[0] * g.kernel[1]);
}

}  // namespace mge::ops
