// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/export/onnx/families.h"
#include "libmge/ops/reduce/arg_extreme.h"
#include "libmge/ops/reduce/cumsum.h"
#include "libmge/ops/reduce/reduce.h"

namespace mge::to_onnx {

// The axes became an input, of sums before all others.
Operand reduced(Site& s, const std::string& type, const Operand& x, const IntList& axes, bool keepdims) {
    bool is_input = s.opset() >= (type == "ReduceSum" ? 13 : 18);
    Attributes attributes{{"keepdims", int64_t(keepdims)}};
    if (axes.empty()) return s.emit(type, {x}, attributes);
    if (is_input) return s.emit(type, {x, s.integers(axes)}, attributes);
    attributes.push_back({"axes", axes});
    return s.emit(type, {x}, attributes);
}

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

// Leading axes that the result does not have go, others along which it has extent 1 stay.
Operands export_reduce_to_shape(Site& s) {
    int surplus = s.rank(0) - s.out_rank();
    IntList gone, kept;
    for (int i = 0; i < surplus; ++i) gone.push_back(i);
    for (int i = 0; i < s.out_rank(); ++i)
        if (!s.shapes.is_same_extent(s.out_id(), i, s.id(0), i + surplus)) kept.push_back(i);
    Operand x = gone.empty() ? s.in(0) : reduced(s, "ReduceSum", s.in(0), gone, false);
    return {kept.empty() ? x : reduced(s, "ReduceSum", x, kept, true)};
}

}  // namespace mge::to_onnx
