// SPDX-License-Identifier: Apache-2.0
// Weights in few bits as bytes, with the scales and zero points of their groups. Not by DequantizeLinear: of
// its products with a matrix ONNX Runtime makes such that round their other operand to steps, too.

#include "libmge/device/device.h"
#include "libmge/kernel/compressed_weight.h"
#include "libmge/model/export/onnx/parts.h"
#include "libmge/ops/quantize/compressed/compressed_matmul.h"
#include "libmge/ops/quantize/compressed/expand_weight.h"

namespace mge::to_onnx {
namespace {

// The positions of steps, scales and zero points among the inputs.
struct WeightPlaces {
    size_t steps, scale, zero;
};

// Two steps of 4 bits in a byte become one each.
Tensor bytes_of(const Tensor& packed, const CompressedWeight& weight) {
    auto* data = packed.data<uint8_t>();
    auto count = size_t(weight.rows * weight.groups() * weight.group);
    std::vector<uint8_t> bytes(count);
    for (size_t i = 0; i < count; ++i)
        bytes[i] = weight.bits == 8 ? data[i] : uint8_t(data[i / 2] >> (i % 2 * 4) & 15);
    return tensor_from_host({DType::u8, {int64_t(count)}, {}}, bytes.data(), host_device);
}

Operand zero_points(Site& s, const WeightPlaces& places, const CompressedWeight& weight) {
    if (s.has(places.zero)) return s.in(places.zero);
    std::vector<uint8_t> middle(size_t(weight.rows * weight.groups()), uint8_t(weight.middle()));
    return s.constant(
        tensor_from_host({DType::u8, {weight.rows, weight.groups()}, {}}, middle.data(), host_device));
}

// The matrix (rows, columns) of real numbers.
Operand real_weight(Site& s, const WeightPlaces& places, CompressedWeight weight) {
    Tensor packed = s.constant_of(places.steps);
    if (!packed) unsupported("weights in ", weight.bits, " bits that are computed");
    if (!weight.group) weight.group = weight.columns;
    int64_t groups = weight.groups();
    Tensor bytes = bytes_of(packed, weight);
    Operand zero = zero_points(s, places, weight);
    Operand steps = s.constant(bytes.with_shape({weight.rows, groups, weight.group}));
    Operand from_zero = s.emit(
        "Sub", {s.cast(steps, DType::f32), s.cast(s.reshape(zero, {weight.rows, groups, 1}), DType::f32)});
    Operand w = s.emit("Mul", {from_zero, s.reshape(s.in(places.scale), {weight.rows, groups, 1})});
    w = s.reshape(w, {weight.rows, groups * weight.group});
    if (groups * weight.group == weight.columns) return w;
    return s.emit("Slice", {w, s.integers({0}), s.integers({weight.columns}), s.integers({1})});
}

Operands export_expand_weight(Site& s) {
    auto& p = s.params<ops::ExpandWeight>();
    return {real_weight(s, {0, 1, 2}, {s.fixed_shape(1)[0], p.columns, p.group, int(p.bits)})};
}

Operands export_compressed_matmul(Site& s) {
    auto& p = s.params<ops::CompressedMatmul>();
    enum Input : size_t { x, steps, scale, zero, bias, residual };
    int64_t columns = s.extent(x, s.rank(x) - 1);
    Operand w =
        real_weight(s, {steps, scale, zero}, {s.fixed_shape(scale)[0], columns, p.group, int(p.bits)});
    Operand y = s.emit("MatMul", {s.in(x), s.transpose(w, {1, 0})});
    if (s.has(bias)) y = s.emit("Add", {y, s.in(bias)});
    if (s.has(residual)) y = s.emit("Add", {y, s.in(residual)});
    return {activated(s, p.activation, y, DType::f32)};
}

}  // namespace

ExportRows compressed_rows() {
    static constexpr ExportRow rows[] = {
        {&ops::CompressedMatmul::info, export_compressed_matmul, "Sub, Mul, MatMul"},
        {&ops::ExpandWeight::info, export_expand_weight, "Sub, Mul"},
    };
    return rows;
}

}  // namespace mge::to_onnx
