// SPDX-License-Identifier: Apache-2.0
#include <numbers>

#include "libmge/model/export/onnx/parts.h"
#include "libmge/ops/elementwise/activation.h"

namespace mge::to_onnx {
namespace {

Operand gelu(Site& s, const Operand& x, DType dtype) {
    if (s.opset() >= 20) return s.emit("Gelu", {x});
    // x/2 * (1 + erf(x/√2))
    Operand erf = s.emit("Erf", {s.emit("Mul", {x, s.number(1 / std::numbers::sqrt2, dtype)})});
    Operand half = s.emit("Mul", {x, s.number(0.5, dtype)});
    return s.emit("Mul", {half, s.emit("Add", {erf, s.number(1, dtype)})});
}

Operand hsigmoid(Site& s, const Operand& x) {
    return s.emit("HardSigmoid", {x}, {{"alpha", 1.0 / 6}, {"beta", 0.5}});
}

Operand hswish(Site& s, const Operand& x) {
    return s.opset() >= 14 ? s.emit("HardSwish", {x}) : s.emit("Mul", {x, hsigmoid(s, x)});
}

Operand relu(Site& s, const Operand& x, DType dtype) {
    bool is_known = is_float(dtype) || (s.opset() >= 14 && !is_unsigned(dtype));
    return is_known ? s.emit("Relu", {x}) : s.extreme("Max", x, s.number(0, dtype), dtype);
}

Operand relu6(Site& s, const Operand& x, DType dtype) {
    return clipped(s, x, dtype, s.number(0, dtype), s.number(6, dtype));
}

Operand silu(Site& s, const Operand& x) { return s.emit("Mul", {x, s.emit("Sigmoid", {x})}); }

Operands export_gelu(Site& s) { return {gelu(s, s.in(0), s.dtype())}; }
Operands export_hsigmoid(Site& s) { return {hsigmoid(s, s.in(0))}; }
Operands export_hswish(Site& s) { return {hswish(s, s.in(0))}; }
Operands export_relu(Site& s) { return {relu(s, s.in(0), s.dtype())}; }
Operands export_relu6(Site& s) { return {relu6(s, s.in(0), s.dtype())}; }
Operands export_silu(Site& s) { return {silu(s, s.in(0))}; }

Operands export_leaky_relu(Site& s) {
    return {s.emit("LeakyRelu", {s.in(0)}, {{"alpha", s.params<ops::LeakyRelu>().slope}})};
}

Operands export_logsigmoid(Site& s) {
    return {s.emit("Neg", {s.emit("Softplus", {s.emit("Neg", {s.in(0)})})})};
}

Operands export_prelu(Site& s) {
    // ONNX's own repeats the slope to the shape of x, never x to that of the slope.
    if (is_float(s.dtype()) && s.shapes.is_same(s.id(0), s.out_id())) return {s.emit("PRelu", s.all())};
    Operand is_negative = s.emit("Less", {s.in(0), s.number(0, s.dtype())});
    Operand sloped = s.arithmetic("Mul", s.in(0), s.in(1), s.dtype());
    return {s.emit("Where", {is_negative, sloped, s.in(0)})};
}

}  // namespace

Operand activated(Site& s, Activation activation, const Operand& x, DType dtype) {
    switch (activation) {
        case Activation::none:
            return x;
        case Activation::relu:
        case Activation::relu_keeps_nan:
            return relu(s, x, dtype);
        case Activation::relu6:
        case Activation::relu6_keeps_nan:
            return relu6(s, x, dtype);
        case Activation::hswish:
            return hswish(s, x);
        case Activation::silu:
            return silu(s, x);
        case Activation::gelu:
            return gelu(s, x, dtype);
        case Activation::sigmoid:
            return s.emit("Sigmoid", {x});
        case Activation::tanh:
            return s.emit("Tanh", {x});
    }
    unsupported("its activation");
}

ExportRows activation_rows() {
    static constexpr ExportRow rows[] = {
        {&ops::Gelu::info, export_gelu, "Gelu"},
        {&ops::Hsigmoid::info, export_hsigmoid, "HardSigmoid"},
        {&ops::Hswish::info, export_hswish, "HardSwish"},
        {&ops::LeakyRelu::info, export_leaky_relu, "LeakyRelu"},
        {&ops::Logsigmoid::info, export_logsigmoid, "Softplus, Neg"},
        {&ops::Prelu::info, export_prelu, "PRelu"},
        {&ops::Relu::info, export_relu, "Relu"},
        {&ops::Relu6::info, export_relu6, "Clip"},
        {&ops::Silu::info, export_silu, "Sigmoid, Mul"},
    };
    return rows;
}

}  // namespace mge::to_onnx
