// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/export/onnx/parts.h"
#include "libmge/ops/nn/batch_norm/batch_norm.h"
#include "libmge/ops/nn/group_norm.h"
#include "libmge/ops/nn/layer_norm.h"

namespace mge::to_onnx {
namespace {

Operand repeated_number(Site& s, double value, const Shape& shape, DType dtype) {
    return s.emit("Expand", {s.number(value, dtype), s.integers({shape.begin(), shape.end()})});
}

// An optional factor or summand of this shape.
Operand given_or(Site& s, size_t i, double otherwise, const Shape& shape) {
    return s.has(i) ? s.in(i) : repeated_number(s, otherwise, shape, s.dtype());
}

Operand scaled(Site& s, Operand y, const Operand& weight, const Operand& bias) {
    if (!weight.empty()) y = s.emit("Mul", {y, weight});
    return bias.empty() ? y : s.emit("Add", {y, bias});
}

// (x - mean) / √(variance + epsilon) over the trailing axes; mean and 1/√… as well.
Operands normalised_rows(Site& s, int axes, double epsilon) {
    IntList trailing;
    for (int i = -axes; i < 0; ++i) trailing.push_back(i);
    Operand x = s.cast(s.in(0), s.dtype(), DType::f32);
    Operand mean = reduced(s, "ReduceMean", x, trailing, true), difference = s.emit("Sub", {x, mean});
    Operand variance = reduced(s, "ReduceMean", s.emit("Mul", {difference, difference}), trailing, true);
    Operand deviation = s.emit("Sqrt", {s.emit("Add", {variance, s.number(epsilon, DType::f32)})});
    Operand inverse = s.emit("Reciprocal", {deviation});
    Operand y = s.cast(s.emit("Mul", {difference, inverse}), DType::f32, s.dtype());
    return {scaled(s, y, s.in(1), s.in(2)), mean, inverse};
}

Operands export_batch_norm(Site& s) {
    auto& p = s.params<ops::BatchNorm>();
    if (p.training) unsupported("it is in training");
    for (size_t i = 1; i < s.node.outputs.size(); ++i)
        if (s.is_read(i)) unsupported("its statistics are read");
    int64_t channels = s.extent(0, 1);
    Operands inputs{s.in(0)};
    // Before operator set 15 all have the dtype of x.
    DType statistics = s.opset() < 15 ? s.dtype() : DType::f32;
    for (size_t i = 1; i <= 4; ++i)
        inputs.push_back(s.cast(s.reshaped(i, {channels}), DType::f32, statistics));
    return {s.emit("BatchNormalization", inputs, {{"epsilon", p.epsilon}})};
}

Operands export_layer_norm(Site& s) {
    auto& p = s.params<ops::LayerNorm>();
    Operands result;
    if (s.opset() < 17) {
        result = normalised_rows(s, p.axes, p.epsilon);
    } else {
        Shape normalised;
        if (!s.has(1))
            for (int i = s.rank(0) - p.axes; i < s.rank(0); ++i) normalised.push_back(s.extent(0, i));
        result =
            s.emit_many("LayerNormalization", {s.in(0), given_or(s, 1, 1, normalised), s.in(2)},
                        {{"axis", -p.axes}, {"epsilon", p.epsilon}}, s.is_read(1) || s.is_read(2) ? 3 : 1);
    }
    // ONNX keeps the axes of the statistics.
    IntList kept;
    for (int i = -p.axes; i < 0; ++i) kept.push_back(i);
    for (size_t i : {1, 2})
        if (s.is_read(i)) result[i] = s.squeeze(result[i], kept);
    return result;
}

// One layer of instances, whose channels are the groups, for operator sets that have no groups.
Operands export_group_norm(Site& s) {
    auto& p = s.params<ops::GroupNorm>();
    if (s.is_read(1) || s.is_read(2)) unsupported("its statistics are read");
    int64_t channels = s.extent(0, 1);
    if (s.opset() >= 21)
        return {s.emit("GroupNormalization",
                       {s.in(0), given_or(s, 1, 1, {channels}), given_or(s, 2, 0, {channels})},
                       {{"num_groups", p.groups}, {"epsilon", p.epsilon}})};
    Operand x = s.emit("Reshape", {s.in(0), s.integers({0, p.groups, -1})});
    Operand y = s.emit(
        "InstanceNormalization",
        {x, repeated_number(s, 1, {p.groups}, s.dtype()), repeated_number(s, 0, {p.groups}, s.dtype())},
        {{"epsilon", p.epsilon}});
    y = s.emit("Reshape", {y, s.shape_of(0)});
    Shape per_channel{channels};
    for (int i = 2; i < s.rank(0); ++i) per_channel.push_back(1);
    auto factor = [&](size_t i) { return s.has(i) ? s.reshaped(i, per_channel) : Operand(); };
    return {scaled(s, y, factor(1), factor(2))};
}

}  // namespace

ExportRows normalisation_rows() {
    static constexpr ExportRow rows[] = {
        {&ops::BatchNorm::info, export_batch_norm, "BatchNormalization"},
        {&ops::GroupNorm::info, export_group_norm, "GroupNormalization"},
        {&ops::LayerNorm::info, export_layer_norm, "LayerNormalization"},
    };
    return rows;
}

}  // namespace mge::to_onnx
