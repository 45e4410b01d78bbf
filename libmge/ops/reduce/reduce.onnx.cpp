// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/reduce/reduce.h"
#include "libmge/model/export/onnx/parts.h"
#include "libmge/ops/reduce/arg_extreme.h"
#include "libmge/ops/reduce/cumsum.h"

namespace mge::to_onnx {
namespace {

// int32 where ONNX reduces no elements of that dtype: integers wrap around alike, and extremes of bools are
// those of 0 and 1.
DType reduced_as(const Site& s) {
    DType dtype = s.dtype();
    if (is_float(dtype) || size_of(dtype) >= 4) return dtype;
    bool is_extreme = s.type == "ReduceMax" || s.type == "ReduceMin";
    bool is_known = is_extreme && dtype != DType::boolean && size_of(dtype) == 1 && s.opset() >= 12;
    return is_known ? dtype : DType::i32;
}

Operands export_reduce(Site& s) {
    auto& p = s.node.as<ops::ReduceParams>();
    DType computed = reduced_as(s), result = s.out().dtype;
    Operand x = s.cast(s.in(0), s.dtype(), computed);
    return {s.cast(reduced(s, std::string(s.type), x, p.axes, p.keepdims), computed, result)};
}

Operands export_mean(Site& s) {
    auto& p = s.node.as<ops::ReduceParams>();
    DType computed = s.dtype() == DType::f64 ? DType::f64 : DType::f32;
    Operand mean = reduced(s, "ReduceMean", s.cast(s.in(0), s.dtype(), computed), p.axes, p.keepdims);
    return {s.cast(mean, computed, s.out().dtype)};
}

Operands export_arg(Site& s) {
    auto& p = s.node.as<ops::ArgParams>();
    Operand x = s.dtype() == DType::boolean ? s.cast(s.in(0), DType::i32) : s.in(0);
    return {
        s.narrowed(s.emit(std::string(s.type), {x}, {{"axis", p.axis}, {"keepdims", int64_t(p.keepdims)}}))};
}

Operands export_cumsum(Site& s) {
    const bool has_halves = s.opset() >= 14;
    DType computed =
        is_float(s.dtype()) && size_of(s.dtype()) < 4 && !has_halves ? DType::f32 : reduced_as(s);
    Operand x = s.cast(s.in(0), s.dtype(), computed);
    Operand sums = s.emit("CumSum", {x, s.integer(s.params<ops::Cumsum>().axis)});
    return {s.cast(sums, computed, s.out().dtype)};
}

}  // namespace

// The axes became an input, of sums before all others.
Operand reduced(Site& s, const std::string& type, const Operand& x, const IntList& axes, bool keepdims) {
    bool is_input = s.opset() >= (type == "ReduceSum" ? 13 : 18);
    Attributes attributes{{"keepdims", int64_t(keepdims)}};
    if (axes.empty()) return s.emit(type, {x}, attributes);
    if (is_input) return s.emit(type, {x, s.integers(axes)}, attributes);
    attributes.push_back({"axes", axes});
    return s.emit(type, {x}, attributes);
}

ExportRows reduce_rows() {
    static constexpr ExportRow rows[] = {
        {&ops::Argmax::info, export_arg, "ArgMax"},      {&ops::Argmin::info, export_arg, "ArgMin"},
        {&ops::Cumsum::info, export_cumsum, "CumSum"},   {&ops::Max::info, export_reduce, "ReduceMax"},
        {&ops::Mean::info, export_mean, "ReduceMean"},   {&ops::Min::info, export_reduce, "ReduceMin"},
        {&ops::Prod::info, export_reduce, "ReduceProd"}, {&ops::Sum::info, export_reduce, "ReduceSum"},
    };
    return rows;
}

}  // namespace mge::to_onnx
