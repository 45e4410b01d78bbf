// SPDX-License-Identifier: Apache-2.0
// Quantised values as QuantizeLinear and DequantizeLinear around operators on real numbers, the form that
// other engines recognise and run on integers.

#include "libmge/ops/quantize/quantize.h"
#include "libmge/device/device.h"
#include "libmge/model/export/onnx/parts.h"
#include "libmge/op/apply.h"
#include "libmge/ops/quantize/convolution/quantized_conv2d.h"
#include "libmge/ops/quantize/fake_quantize.h"
#include "libmge/ops/quantize/map_bytes.h"
#include "libmge/ops/quantize/quantisation.h"
#include "libmge/ops/quantize/quantized_add.h"

namespace mge::to_onnx {
namespace {

// How integers stand for real numbers: a scale, or one for each place of an axis, and a zero point.
struct Steps {
    Operand scale, zero;
    int axis = -1;  // axis of a scale with several elements
};

Attributes axis_of(const Site& s, const Steps& steps) {
    if (steps.axis < 0) return {};
    s.require_opset(13);
    return {{"axis", steps.axis}};
}

Operand zero_point(Site& s, size_t i, DType dtype, const Shape& shape) {
    if (!s.has(i)) return {};
    if (Tensor value = s.constant_of(i)) return s.constant(convert_dtype(value, dtype).with_shape(shape));
    return s.cast(s.reshaped(i, shape), s.dtype(i), dtype);
}

// Scale and zero point are the inputs from 1 on, and broadcast to a tensor of this rank.
Steps steps_of(Site& s, int rank, DType dtype) {
    Shape shape = s.fixed_shape(1), flat;
    Steps steps;
    for (int i = 0; i < shape.rank(); ++i)
        if (shape[i] != 1) {
            if (steps.axis >= 0) unsupported("scales along several axes");
            steps.axis = rank - shape.rank() + i;
            flat = {shape[i]};
        }
    steps.scale = s.reshaped(1, flat);
    steps.zero = zero_point(s, 2, dtype, flat);
    return steps;
}

Operand real_of(Site& s, const Operand& x, const Steps& steps) {
    return s.emit("DequantizeLinear", {x, steps.scale, steps.zero}, axis_of(s, steps));
}

// Without a zero point that says otherwise the steps are uint8.
Operand steps_from(Site& s, const Operand& x, Steps steps, DType dtype, int64_t lower, int64_t upper,
                   const Shape& zero_shape) {
    if (size_of(dtype) > 1) unsupported("steps of ", dtype);
    if (steps.zero.empty()) {
        Tensor zeros = convert_dtype(integer_tensor(IntList(size_t(zero_shape.numel()))), dtype);
        steps.zero = s.constant(zeros.with_shape(zero_shape));
    }
    Operand y = s.emit("QuantizeLinear", {x, steps.scale, steps.zero}, axis_of(s, steps));
    auto full = ops::full_range(dtype);
    bool is_full = (lower == 0 && upper == 0) || (lower == full.lower && upper == full.upper);
    if (is_full) return y;
    return clipped(s, y, dtype, s.number(double(lower), dtype), s.number(double(upper), dtype));
}

Operand one_scale(Site& s, size_t i) { return s.reshaped(i, {}); }

using Conv = ops::QuantizedConv2d;

// An input with one scale and one zero point, which are inputs as well.
Operand real_input(Site& s, size_t x, size_t scale, size_t zero) {
    return real_of(s, s.in(x), {one_scale(s, scale), zero_point(s, zero, s.dtype(x), {})});
}

// Wider steps than ONNX has: those of biases.
Operand wide_steps(Site& s) {
    auto& p = s.params<ops::Quantize>();
    auto full = ops::full_range(p.dtype);
    bool is_full = (p.lower == 0 && p.upper == 0) || (p.lower == full.lower && p.upper == full.upper);
    if (!is_full) unsupported("steps of ", p.dtype, " with bounds");
    Operand y = s.cast(s.emit("Round", {s.emit("Div", {s.in(0), s.in(1)})}), p.dtype);
    return s.has(2) ? s.arithmetic("Add", y, s.cast(s.in(2), s.dtype(2), p.dtype), p.dtype) : y;
}

Operands export_quantize(Site& s) {
    auto& p = s.params<ops::Quantize>();
    if (Tensor steps = s.known_out()) return {s.constant(steps)};
    if (size_of(p.dtype) > 1) return {wide_steps(s)};
    Steps steps = steps_of(s, s.rank(0), p.dtype);
    Shape zero_shape;
    if (steps.axis >= 0) zero_shape = {s.fixed_shape(1).numel()};
    return {steps_from(s, s.in(0), steps, p.dtype, p.lower, p.upper, zero_shape)};
}

Operands export_dequantize(Site& s) { return {real_of(s, s.in(0), steps_of(s, s.rank(0), s.dtype()))}; }

// The steps and back.
Operands export_fake_quantize(Site& s) {
    auto& p = s.params<ops::FakeQuantize>();
    DType dtype = p.lower >= -128 && p.upper <= 127 ? DType::i8 : DType::u8;
    if (dtype == DType::u8 && (p.lower < 0 || p.upper > 255))
        unsupported("steps from ", p.lower, " to ", p.upper);
    if (s.dtype() != DType::f32) unsupported("steps of ", s.dtype());
    Steps steps = steps_of(s, s.rank(0), dtype);
    Shape zero_shape;
    if (steps.axis >= 0) zero_shape = {s.fixed_shape(1).numel()};
    return {real_of(s, steps_from(s, s.in(0), steps, dtype, p.lower, p.upper, zero_shape), steps)};
}

// Places from -1 down count from the end, as the bits do.
Operands export_map_bytes(Site& s) {
    return {s.emit("Gather", {s.in(1), s.cast(s.in(0), s.dtype(0), DType::i32)})};
}

Operands export_quantized_add(Site& s) {
    auto& p = s.params<ops::QuantizedAdd>();
    enum Input : size_t { a, b, a_scale, b_scale, y_scale, a_zero, b_zero, y_zero };
    Operand sum = s.emit("Add", {real_input(s, a, a_scale, a_zero), real_input(s, b, b_scale, b_zero)});
    if (p.relu) sum = s.emit("Relu", {sum});
    Steps of_result{one_scale(s, y_scale), zero_point(s, y_zero, p.dtype, {})};
    return {steps_from(s, sum, of_result, p.dtype, p.lower, p.upper, {})};
}

Attributes windows_of(const Conv::Params& p) {
    return {{"strides", IntList{p.stride[0], p.stride[1]}},
            {"pads", IntList{p.padding[0], p.padding[1], p.padding[0], p.padding[1]}},
            {"dilations", IntList{p.dilation[0], p.dilation[1]}},
            {"group", p.groups}};
}

// The sums are integers.
Operand quantized_sums(Site& s) {
    auto zero = [&](size_t x, size_t i) { return zero_point(s, i, s.dtype(x), {}); };
    Operand y = s.emit("ConvInteger",
                       {s.in(Conv::x), conv_weight(s, Conv::weight), zero(Conv::x, Conv::x_zero),
                        zero(Conv::weight, Conv::weight_zero)},
                       windows_of(s.params<Conv>()));
    if (!s.has(Conv::bias)) return y;
    return s.emit("Add", {y, s.reshaped(Conv::bias, {1, s.fixed_shape(Conv::bias).numel(), 1, 1})});
}

// ONNX wants the scales of images and weights apart, and knows their product only: that of the weights is the
// product, and that of the images 1.
Operands export_quantized_conv2d(Site& s) {
    auto& p = s.params<Conv>();
    if (!s.has(Conv::y_scale)) return {quantized_sums(s)};
    Operand one = s.number(1, DType::f32);
    Operand image = real_of(s, s.in(Conv::x), {one, zero_point(s, Conv::x_zero, s.dtype(Conv::x), {})});
    int64_t scales = s.fixed_shape(Conv::scale).numel();
    Shape per_channel = scales == 1 ? Shape{} : Shape{scales};
    Operand scale = s.reshaped(Conv::scale, per_channel);
    DType weight_dtype = s.dtype(Conv::weight);
    Steps of_weight{scale, zero_point(s, Conv::weight_zero, weight_dtype, {}), scales == 1 ? -1 : 0};
    if (scales > 1 && !of_weight.zero.empty())
        of_weight.zero = s.emit("Expand", {of_weight.zero, s.integers({scales})});
    Operand weight = real_of(s, conv_weight(s, Conv::weight), of_weight), bias;
    if (s.has(Conv::bias)) {
        Shape channels{s.fixed_shape(Conv::bias).numel()};
        bias = real_of(s, s.reshaped(Conv::bias, channels), {scale, {}, of_weight.axis});
    }
    Operand y = s.emit("Conv", {image, weight, bias}, windows_of(p));
    if (s.has(Conv::inner_scale)) {
        Steps inner{one_scale(s, Conv::inner_scale), zero_point(s, Conv::inner_zero, p.inner_dtype, {})};
        y = real_of(s, steps_from(s, y, inner, p.inner_dtype, 0, 0, {}), inner);
    }
    if (s.has(Conv::shift)) {
        Shape channels{1, s.fixed_shape(Conv::shift).numel(), 1, 1};
        y = s.emit("Add", {y, s.reshaped(Conv::shift, channels)});
    }
    if (s.has(Conv::residual))
        y = s.emit("Add", {y, real_input(s, Conv::residual, Conv::residual_scale, Conv::residual_zero)});
    y = activated(s, p.activation, y, DType::f32);
    Steps of_result{one_scale(s, Conv::y_scale), zero_point(s, Conv::y_zero, p.dtype, {})};
    return {steps_from(s, y, of_result, p.dtype, p.lower, p.upper, {})};
}

}  // namespace

ExportRows quantize_rows() {
    static constexpr ExportRow rows[] = {
        {&ops::Dequantize::info, export_dequantize, "DequantizeLinear"},
        {&ops::FakeQuantize::info, export_fake_quantize, "QuantizeLinear, DequantizeLinear"},
        {&ops::MapBytes::info, export_map_bytes, "Gather"},
        {&ops::Quantize::info, export_quantize, "QuantizeLinear"},
        {&ops::QuantizedAdd::info, export_quantized_add, "DequantizeLinear, Add, QuantizeLinear"},
        {&ops::QuantizedConv2d::info, export_quantized_conv2d,
         "DequantizeLinear, Conv, QuantizeLinear; ConvInteger"},
    };
    return rows;
}

}  // namespace mge::to_onnx
