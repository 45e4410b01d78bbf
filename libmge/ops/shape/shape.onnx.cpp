// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>

#include "libmge/model/export/onnx/parts.h"
#include "libmge/ops/shape/broadcast.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/flip.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/pad.h"
#include "libmge/ops/shape/reduce_to_shape.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/roll/roll.h"
#include "libmge/ops/shape/shape_of.h"
#include "libmge/ops/shape/split.h"
#include "libmge/ops/shape/wait_for.h"

namespace mge::to_onnx {
namespace {

// Leading axes that the result does not have go, others along which it has extent 1 stay.
Operands export_reduce_to_shape(Site& s) {
    int surplus = s.rank(0) - s.out_rank();
    IntList removed, kept;
    for (int i = 0; i < surplus; ++i) removed.push_back(i);
    for (int i = 0; i < s.out_rank(); ++i)
        if (!s.shapes.is_same_extent(s.out_id(), i, s.id(0), i + surplus)) kept.push_back(i);
    Operand x = removed.empty() ? s.in(0) : reduced(s, "ReduceSum", s.in(0), removed, false);
    return {kept.empty() ? x : reduced(s, "ReduceSum", x, kept, true)};
}

// The shape of the result, with -1 for the one extent that depends on the batch; nullopt when there are more.
std::optional<IntList> target_of(Site& s) {
    IntList target;
    if (!s.out().shape.is_known()) return std::nullopt;
    for (int i = 0; i < s.out().shape.rank(); ++i)
        target.push_back(s.shapes.extent(s.out_id(), i).value_or(-1));
    bool has_zero = std::ranges::find(target, 0) != target.end();
    auto unknown = std::ranges::count(target, -1);
    return unknown > 1 || (unknown == 1 && has_zero) ? std::nullopt : std::optional(target);
}

Operands export_broadcast_to(Site& s) {
    return {s.expanded(s.in(0), s.id(0), s.out_id(), s.has(1) ? s.wide(1) : Operand())};
}

Operands export_broadcast_like(Site& s) { return {s.expanded(s.in(0), s.id(0), s.out_id(), s.shape_of(1))}; }

Operands export_concat(Site& s) {
    return {s.emit("Concat", s.all(), {{"axis", s.params<ops::Concat>().axis}})};
}

Operands export_flip(Site& s) {
    auto& axes = s.params<ops::Flip>().axes;
    constexpr int64_t first = std::numeric_limits<int64_t>::max(), last = std::numeric_limits<int64_t>::min();
    if (axes.empty()) return export_identity(s);
    auto all = [&](int64_t value) { return s.integers(IntList(axes.size(), value)); };
    return {s.emit("Slice", {s.in(0), all(first), all(last), s.integers(axes), all(-1)})};
}

Operands export_pad(Site& s) {
    auto& p = s.params<ops::Pad>();
    IntList margins = p.before;
    margins.insert(margins.end(), p.after.begin(), p.after.end());
    std::string mode = p.mode == ops::PadMode::reflect     ? "reflect"
                       : p.mode == ops::PadMode::replicate ? "edge"
                                                           : "constant";
    Operand value = p.mode == ops::PadMode::constant ? s.number(p.value, s.dtype()) : Operand();
    return {s.emit("Pad", {s.in(0), s.integers(margins), value}, {{"mode", mode}})};
}

Operands export_reshape(Site& s) {
    if (auto target = target_of(s)) return {s.reshape(s.in(0), *target)};
    auto& fixed = s.params<ops::Reshape>().shape;
    return {s.has(1) ? s.emit("Reshape", {s.in(0), s.wide(1)}) : s.reshape(s.in(0), fixed)};
}

Operands export_reshape_like(Site& s) {
    if (auto target = target_of(s)) return {s.reshape(s.in(0), *target)};
    return {s.emit("Reshape", {s.in(0), s.shape_of(1)})};
}

// The target of a flatten with several sizes that are known only at run time: the sizes of x, those of the
// joined axes multiplied.
Operand flat_shape(Site& s) {
    auto& p = s.params<ops::Flatten>();
    const int rank = s.rank(0), start = normalize_axis("flatten", p.start, rank),
              end = normalize_axis("flatten", p.end, rank) + 1;
    Operand shape = s.shape_of(0);
    Operands parts = s.emit_with("Split", shape, "split", {start, end - start, rank - end}, {}, 3);
    parts[1] = reduced(s, "ReduceProd", parts[1], {0}, true);
    return s.emit("Concat", parts, {{"axis", 0}});
}

Operands export_flatten(Site& s) {
    if (auto target = target_of(s)) return {s.reshape(s.in(0), *target)};
    constexpr int64_t same = 0, computed = -1;  // in the target of a Reshape
    IntList target;
    for (int i = 0; i < s.out_rank(); ++i) {
        const bool is_same = s.rank(0) > i && s.shapes.is_same_extent(s.id(0), i, s.out_id(), i);
        target.push_back(is_same ? same : s.shapes.extent(s.out_id(), i).value_or(computed));
        if (!is_same && target.back() == 0) unsupported("open sizes beside a size of 0");
    }
    bool is_one = std::ranges::count(target, computed) <= 1;
    return {s.emit("Reshape", {s.in(0), is_one ? s.integers(target) : flat_shape(s)})};
}

Operands export_roll(Site& s) {
    auto& p = s.params<ops::Roll>();
    for (int64_t axis : p.axes)
        if (!s.shapes.extent(s.out_id(), normalize_axis("roll", axis, s.out_rank())))
            unsupported("the size of a rolled axis is open");
    const IntList shifts = ops::roll_shifts(p, s.out().shape);
    Operand x = s.in(0);
    for (size_t axis = 0; axis < shifts.size(); ++axis) {
        if (shifts[axis] == 0) continue;
        auto one = [&](int64_t value) { return s.integers({value}); };
        constexpr int64_t end = std::numeric_limits<int64_t>::max();
        const Operand at = one(int64_t(axis)), cut = one(-shifts[axis]);
        const Operand front = s.emit("Slice", {x, cut, one(end), at}),
                      back = s.emit("Slice", {x, one(0), cut, at});
        x = s.emit("Concat", {front, back}, {{"axis", int64_t(axis)}});
    }
    return {x};
}

Operands export_add_axis(Site& s) { return {s.unsqueeze(s.in(0), s.params<ops::AddAxis>().axes)}; }

Operands export_remove_axis(Site& s) { return {s.squeeze(s.in(0), s.params<ops::RemoveAxis>().axes)}; }

Operands export_shape_of(Site& s) {
    int axis = s.params<ops::ShapeOf>().axis;
    Operand shape = s.shape_of(0);
    return {s.narrowed(axis < 0 ? shape : s.emit("Gather", {shape, s.integers({axis})}))};
}

Operands export_split(Site& s) {
    auto& p = s.params<ops::Split>();
    int axis = normalize_axis("split", p.axis, s.rank(0));
    IntList sizes;
    for (size_t i = 0; i < s.node.outputs.size(); ++i) {
        auto size = s.shapes.extent(s.out_id(i), axis);
        if (!size) unsupported("the size of a part is known only at run time");
        sizes.push_back(*size);
    }
    return s.emit_with("Split", s.in(0), "split", sizes, {{"axis", axis}}, sizes.size());
}

Operands export_transpose(Site& s) {
    auto pattern = ops::transpose_axes(s.params<ops::Transpose>(), s.rank(0));
    return {s.transpose(s.in(0), IntList(pattern.begin(), pattern.end()))};
}

}  // namespace

ExportRows shape_rows() {
    static constexpr ExportRow rows[] = {
        {&ops::AddAxis::info, export_add_axis, "Unsqueeze"},
        {&ops::BroadcastLike::info, export_broadcast_like, "Expand"},
        {&ops::BroadcastTo::info, export_broadcast_to, "Expand"},
        {&ops::Concat::info, export_concat, "Concat"},
        {&ops::Flatten::info, export_flatten, "Reshape"},
        {&ops::Flip::info, export_flip, "Slice"},
        {&ops::Pad::info, export_pad, "Pad"},
        {&ops::ReduceToShape::info, export_reduce_to_shape, "ReduceSum"},
        {&ops::RemoveAxis::info, export_remove_axis, "Squeeze"},
        {&ops::Reshape::info, export_reshape, "Reshape"},
        {&ops::ReshapeLike::info, export_reshape_like, "Reshape"},
        {&ops::Roll::info, export_roll, "Concat"},
        {&ops::ShapeOf::info, export_shape_of, "Shape"},
        {&ops::Split::info, export_split, "Split"},
        {&ops::Transpose::info, export_transpose, "Transpose"},
        {&ops::WaitFor::info, export_identity, "Identity"},
    };
    return rows;
}

}  // namespace mge::to_onnx
