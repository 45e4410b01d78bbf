// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/reduce/reduce.h"
#include "libmge/model/export/onnx/parts.h"
#include "libmge/ops/reduce/arg_extreme.h"
#include "libmge/ops/reduce/cumsum.h"

namespace mge::to_onnx {
namespace {

Operands export_reduce(Site& s) {
    auto& p = s.node.as<ops::ReduceParams>();
    DType result = s.out().dtype;
    // Extremes of bools are those of 0 and 1.
    bool is_short =
        s.dtype() == DType::boolean || (s.opset() < 12 && !is_float(s.dtype()) && size_of(s.dtype()) == 1);
    DType computed = is_short ? DType::i32 : s.dtype();
    Operand x = s.cast(s.in(0), s.dtype(), computed);
    return {s.cast(reduced(s, std::string(s.type), x, p.axes, p.keepdims), computed, result)};
}

Operands export_mean(Site& s) {
    auto& p = s.node.as<ops::ReduceParams>();
    return {reduced(s, "ReduceMean", s.cast(s.in(0), s.dtype(), DType::f32), p.axes, p.keepdims)};
}

Operands export_arg(Site& s) {
    auto& p = s.node.as<ops::ArgParams>();
    return {s.narrowed(
        s.emit(std::string(s.type), {s.in(0)}, {{"axis", p.axis}, {"keepdims", int64_t(p.keepdims)}}))};
}

Operands export_cumsum(Site& s) {
    return {s.emit("CumSum", {s.in(0), s.integer(s.params<ops::Cumsum>().axis)})};
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
