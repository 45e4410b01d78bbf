// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <iterator>

#include "libmge/model/export/onnx/parts.h"
#include "libmge/ops/create/arange.h"
#include "libmge/ops/create/eye.h"
#include "libmge/ops/create/full.h"

namespace mge::to_onnx {
namespace {

Operand filled(Site& s, const Operand& shape, double value, DType dtype) {
    return s.emit("ConstantOfShape", {shape}, {{"value", number_tensor(value, dtype).with_shape({1})}});
}

// 0, 1, … as f32; `count` is a number in int64.
Operand counted_up(Site& s, const Operand& count) {
    Operand all = s.emit("Range", {s.integer(0), count, s.integer(1)});
    return s.cast(all, DType::f32);
}

// True if all three numbers are integers: ONNX's Range counts in the dtype of its inputs.
bool counts_in_integers(Site& s, const ops::Arange::Params& p) {
    const double numbers[] = {p.start, p.stop, p.step};
    for (size_t i = 0; i < std::size(numbers); ++i)
        if (s.has(i) ? is_float(s.dtype(i)) : numbers[i] != std::trunc(numbers[i])) return false;
    return !is_float(p.dtype);
}

Operands export_arange(Site& s) {
    auto& p = s.params<ops::Arange>();
    // In f64, as our kernel computes. Engines add steps up, which in f32 loses digits and may change the
    // count.
    const DType computed = counts_in_integers(s, p) ? DType::i64 : DType::f64;
    auto bound = [&](size_t i, double otherwise) {
        if (!s.has(i)) return s.number(otherwise, computed);
        if (is_float(s.dtype(i))) return s.emit("Squeeze", {s.cast(s.in(i), s.dtype(i), computed)});
        return s.cast(s.emit("Squeeze", {s.wide(i)}), DType::i64, computed);
    };
    Operand all = s.emit("Range", {bound(0, p.start), bound(1, p.stop), bound(2, p.step)});
    return {s.cast(all, computed, p.dtype)};
}

// start + i * (stop - start) / (n - 1); one value is start.
Operands export_linspace(Site& s) {
    auto& p = s.params<ops::Linspace>();
    auto end = [&](size_t i, double otherwise) {
        return s.has(i) ? s.emit("Squeeze", {s.cast(s.in(i), s.dtype(i), DType::f32)})
                        : s.number(otherwise, DType::f32);
    };
    Operand count = s.has(2) ? s.emit("Squeeze", {s.wide(2)}) : s.integer(p.num);
    Operand gaps = s.extreme("Max", s.emit("Sub", {count, s.integer(1)}), s.integer(1), DType::i64);
    Operand start = end(0, p.start), distance = s.emit("Sub", {end(1, p.stop), start});
    Operand step = s.emit("Div", {distance, s.cast(gaps, DType::f32)});
    return {s.emit("Add", {start, s.emit("Mul", {counted_up(s, count), step})})};
}

Operands export_eye(Site& s) {
    auto& p = s.params<ops::Eye>();
    Operand zeros = filled(s, s.integers({p.n, p.m < 0 ? p.n : p.m}), 0, DType::f32);
    return {s.cast(s.emit("EyeLike", {zeros}), DType::f32, p.dtype)};
}

Operands export_full(Site& s) {
    auto& p = s.params<ops::Full>();
    Operand shape = s.shapes.fixed(s.out_id()) || !s.has(0) ? s.shape_operand(s.out_id(), {}) : s.wide(0);
    return {filled(s, shape, p.value, p.dtype)};
}

Operands export_full_like(Site& s) {
    return {filled(s, s.shape_of(0), s.params<ops::FullLike>().value, s.dtype())};
}

}  // namespace

ExportRows create_rows() {
    static constexpr ExportRow rows[] = {
        {&ops::Arange::info, export_arange, "Range"},
        {&ops::Eye::info, export_eye, "EyeLike"},
        {&ops::Full::info, export_full, "ConstantOfShape"},
        {&ops::FullLike::info, export_full_like, "ConstantOfShape"},
        {&ops::Linspace::info, export_linspace, "Range"},
    };
    return rows;
}

}  // namespace mge::to_onnx
