// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/shapes/symbolic.h"

#include <algorithm>

#include "libmge/device/device.h"
#include "libmge/graph/builder.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/convert/convert.h"

namespace mge::onnx {
namespace {

SymbolicInference* inference_of(const Tensor& t) {
    auto* builder = GraphBuilder::of(t);
    return builder ? builder->symbolic() : nullptr;
}

// Longer vectors are no shapes.
constexpr size_t most_numbers = 16;

}  // namespace

SymbolicValue symbolic_value(const Tensor& t) {
    if (auto* inference = inference_of(t)) return inference->at(t.impl()->symbol);
    if (!t.is_symbolic()) return {t.shape(), extents_of(t), t};
    return {t.shape(), {}, {}};
}

Shape symbolic_shape(const Tensor& t) {
    auto* inference = inference_of(t);
    return inference ? inference->at(t.impl()->symbol).shape : t.shape();
}

std::optional<int> find_rank(const Tensor& t) {
    if (t.shape().is_known()) return t.shape().rank();
    Shape shape = symbolic_shape(t);
    return shape.is_known() ? std::optional(shape.rank()) : std::nullopt;
}

std::optional<int64_t> find_extent(const Tensor& t, int axis) {
    Shape shape = symbolic_shape(t);
    if (!shape.is_known() || axis < 0 || axis >= shape.rank()) return std::nullopt;  // a scalar has no last
    auto extent = shape.extent(axis);
    return extent.is_number() ? std::optional(extent.number()) : std::nullopt;
}

std::optional<Shape> find_shape(const Tensor& t) {
    Shape shape = symbolic_shape(t);
    return shape.is_known() && !shape.has_symbols() ? std::optional(shape) : std::nullopt;
}

Tensor find_value(const Tensor& t) {
    if (!t.is_symbolic()) return t;
    auto known = symbolic_value(t);
    if (known.constant) return known.constant;
    bool is_fixed = known.elements && known.shape.is_known() && !known.shape.has_symbols() &&
                    std::ranges::all_of(*known.elements, &SymbolicExtent::is_number);
    if (!is_fixed) return {};
    IntList numbers;
    for (auto& extent : *known.elements) numbers.push_back(extent.number());
    InterpreterScope scope(eager_interpreter());
    Tensor value = tensor_from_host({DType::i64, known.shape, {}}, numbers.data(), host_device);
    return t.dtype() == DType::i64 ? value : Tensor(convert_dtype(value, t.dtype()));
}

std::vector<std::optional<int64_t>> find_numbers(const Tensor& vector) {
    auto known = symbolic_value(vector);
    std::vector<std::optional<int64_t>> numbers;
    if (known.shape.is_known() && known.shape.rank() != 1) return numbers;
    if (known.elements) {
        for (auto& extent : *known.elements)
            numbers.push_back(extent.is_number() ? std::optional(extent.number()) : std::nullopt);
    } else if (auto length = find_extent(vector, 0); length && *length <= int64_t(most_numbers)) {
        numbers.resize(size_t(*length));
    }
    return numbers;
}

SymbolicExtent unknown_extent(const Tensor& value, int axis) {
    auto* inference = inference_of(value);
    MGE_CHECK(inference, "a value that is not inferred symbolically");
    return inference->unknown_extent(value.impl()->symbol, axis);
}

bool is_known_late(const SymbolicExtent& extent) {
    return std::ranges::any_of(symbols_of(extent), [](auto& name) { return name.starts_with('?'); });
}

Tensor assume(const Tensor& value, const Shape& shape) {
    if (auto* inference = inference_of(value)) inference->assume(value.impl()->symbol, shape);
    return value;
}

void assume_axes(const Tensor& value, int most_axes) {
    if (auto* inference = inference_of(value)) inference->assume_axes(value.impl()->symbol, most_axes);
}

Tensor with_unknown_length(const Tensor& vector) {
    if (!inference_of(vector)) return vector;
    Shape shape;
    shape.push_back(unknown_extent(vector, 0));
    return assume(vector, shape);
}

}  // namespace mge::onnx
