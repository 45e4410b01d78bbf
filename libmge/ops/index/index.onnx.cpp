// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "libmge/model/export/onnx/parts.h"
#include "libmge/ops/index/cond_take.h"
#include "libmge/ops/index/embedding.h"
#include "libmge/ops/index/gather.h"
#include "libmge/ops/index/one_hot.h"
#include "libmge/ops/index/order/sort.h"
#include "libmge/ops/index/order/unique.h"
#include "libmge/ops/index/take.h"

namespace mge::to_onnx {
namespace {

// Elements at places given by index tensors, with the indexed axes in front.
class TakenPlaces {
public:
    // The index tensors are the inputs from `first` on.
    TakenPlaces(Site& s, size_t first) : s_(s), first_(first) {
        // The order of axes depends on ranks alone.
        auto ones = [&](size_t i) { return Shape(IntList(size_t(s.rank(i)), 1)); };
        TensorSpecs indices;
        for (size_t i = first; i < s.size(); ++i) indices.push_back({s.dtype(i), ones(i), {}});
        shape_ = ops::take_shape(s.node.op->name, s.node.as<ops::Take::Params>(), ones(0), indices);
        pattern_.assign(shape_.axes.begin(), shape_.axes.end());
        for (int axis = 0; axis < s.rank(0); ++axis)
            if (std::ranges::find(shape_.axes, axis) == shape_.axes.end()) pattern_.push_back(axis);
        for (int axis = 0; axis < shape_.result.rank(); ++axis) result_order_.push_back(axis);
        auto begin = result_order_.begin() + shape_.indices_at;
        std::rotate(result_order_.begin(), begin, begin + shape_.indices.rank());
    }

    // x with the indexed axes in front.
    Operand source() { return s_.transpose(s_.in(0), pattern_); }
    Operand restored(const Operand& x) { return s_.transpose(x, inverse(pattern_)); }
    // Between the result's order of axes and that with the indices in front.
    Operand to_result(const Operand& x) { return s_.transpose(x, inverse(result_order_)); }
    Operand from_result(const Operand& x) { return s_.transpose(x, result_order_); }
    // All index tensors as one, their places along a last axis.
    Operand indices() {
        Operands parts;
        for (size_t i = first_; i < s_.size(); ++i) parts.push_back(s_.unsqueeze(repeated(i), {-1}));
        return parts.size() == 1 ? parts[0] : s_.emit("Concat", parts, {{"axis", -1}});
    }
    Operand gathered(const Operand& indices) { return to_result(s_.emit("GatherND", {source(), indices})); }

private:
    Operand repeated(size_t i) {
        bool are_same = true;
        for (size_t k = first_; k < s_.size(); ++k) are_same &= s_.shapes.is_same(s_.id(k), s_.id(i));
        if (are_same) return s_.wide(i);
        if (!common_shape_) common_shape_ = common_shape();
        return s_.emit("Expand", {s_.wide(i), *common_shape_});
    }
    // Open indices have the shape of their sum.
    Operand common_shape() {
        auto fixed = [&](size_t i) { return s_.shapes.fixed(s_.id(i)); };
        std::optional<Shape> common{Shape()};
        for (size_t i = first_; i < s_.size() && common; ++i)
            common = fixed(i) ? std::optional(broadcast_shapes(s_.node.op->name, *common, *fixed(i)))
                              : std::nullopt;
        if (common) return s_.integers({common->begin(), common->end()});
        Operand sum = s_.wide(first_);
        for (size_t i = first_ + 1; i < s_.size(); ++i) sum = s_.emit("Add", {sum, s_.wide(i)});
        return s_.emit("Shape", {sum});
    }
    static IntList inverse(const IntList& pattern) {
        IntList result(pattern.size());
        for (size_t i = 0; i < pattern.size(); ++i) result[size_t(pattern[i])] = int64_t(i);
        return result;
    }

    Site& s_;
    size_t first_;
    ops::TakeShape shape_;
    IntList pattern_, result_order_;
    std::optional<Operand> common_shape_;  // shape of all index tensors together; set when first needed
};

Operands changed(Site& s, Attributes attributes) {
    TakenPlaces places(s, 2);
    Operand indices = places.indices(), present = places.gathered(indices);
    int surplus = s.rank(1) - (s.rank(0) - int(s.node.as<ops::Take::Params>().axes.size()) + s.rank(2));
    IntList leading(size_t(std::max(0, surplus)));
    std::iota(leading.begin(), leading.end(), 0);
    Operand value = s.emit("Expand", {s.squeeze(s.in(1), leading), s.emit("Shape", {present})});
    return {places.restored(
        s.emit("ScatterND", {places.source(), indices, places.from_result(value)}, attributes))};
}

Operand along_axis(Site& s, size_t index, int axis) {
    return s.unsqueeze(s.in(index), {normalize_axis(s.node.op->name, axis, s.rank(0))});
}

Operand extent_operand(Site& s, int axis) {
    axis = normalize_axis(s.node.op->name, axis, s.rank(0));
    if (auto extent = s.shapes.extent(s.id(0), axis)) return s.integers({*extent});
    return s.emit("Gather", {s.emit("Shape", {s.in(0)}), s.integers({axis})});
}

// The k first elements along an axis, and their places. ONNX keeps the order of equal elements; the k-th one
// alone is then the last of equal ones, and ours the first. Our
// descending order is the reverse of the ascending one: there the axis is reversed before and the places
// after.
Operands first_of(Site& s, const Operand& count, const Operand& extent, int axis, bool descending) {
    constexpr int64_t first = std::numeric_limits<int64_t>::max(), last = std::numeric_limits<int64_t>::min();
    Operand x = s.in(0);
    if (descending)
        x = s.emit("Slice",
                   {x, s.integers({first}), s.integers({last}), s.integers({axis}), s.integers({-1})});
    auto found = s.emit_many("TopK", {x, count}, {{"axis", axis}, {"largest", int64_t(descending)}}, 2);
    if (descending && s.is_read(1))
        found[1] = s.emit("Sub", {s.emit("Sub", {extent, s.integers({1})}), found[1]});
    return found;
}

Operands export_take(Site& s) {
    auto& p = s.params<ops::Take>();
    if (p.axes.size() == 1) return {s.emit("Gather", {s.in(0), s.in(1)}, {{"axis", p.axes[0]}})};
    TakenPlaces places(s, 1);
    return {places.gathered(places.indices())};
}
Operands export_set_take(Site& s) { return changed(s, {}); }
Operands export_add_take(Site& s) {
    s.require_opset(16);
    return changed(s, {{"reduction", "add"}});
}

Operands export_embedding(Site& s) { return {s.emit("Gather", s.all())}; }

Operands export_gather(Site& s) {
    return {s.emit("GatherElements", s.all(), {{"axis", s.params<ops::Gather>().axis}})};
}
Operands export_scatter(Site& s) {
    return {s.emit("ScatterElements", s.all(), {{"axis", s.params<ops::Scatter>().axis}})};
}
Operands export_scatter_add(Site& s) {
    s.require_opset(16);
    return {s.emit("ScatterElements", s.all(),
                   {{"axis", s.params<ops::ScatterAdd>().axis}, {"reduction", "add"}})};
}

Operands export_one_hot(Site& s) {
    Operand classes = s.integer(s.params<ops::OneHot>().num_classes);
    return {s.narrowed(s.emit("OneHot", {s.wide(0), classes, s.integers({0, 1})}))};
}
Operands export_indexing_one_hot(Site& s) {
    int axis = s.params<ops::IndexingOneHot>().axis;
    return {s.emit("GatherElements", {s.in(0), along_axis(s, 1, axis)}, {{"axis", axis}})};
}
Operands export_indexing_set_one_hot(Site& s) {
    int axis = s.params<ops::IndexingSetOneHot>().axis;
    return {s.emit("ScatterElements", {s.in(0), along_axis(s, 1, axis), s.in(2)}, {{"axis", axis}})};
}

Operands export_cond_take(Site& s) {
    Operand mask = s.reshape(s.in(1), {-1});
    Operands result{s.emit("Compress", {s.reshape(s.in(0), {-1}), mask}, {{"axis", 0}})};
    if (s.is_read(1)) result.push_back(s.narrowed(s.reshape(s.emit("NonZero", {mask}), {-1})));
    return result;
}

Operands export_sort(Site& s) {
    auto& p = s.params<ops::Sort>();
    Operand extent = extent_operand(s, p.axis);
    auto sorted = first_of(s, extent, extent, p.axis, p.descending);
    return {sorted[0], s.narrowed(sorted[1])};
}

Operands export_topk(Site& s) {
    auto& p = s.params<ops::Topk>();
    Operand extent = extent_operand(s, -1), count;
    if (auto known = s.shapes.extent(s.id(0), s.rank(0) - 1))
        count = s.integers({std::min(p.k, *known)});
    else
        count = s.extreme("Min", s.integers({p.k}), extent, DType::i64);
    auto found = first_of(s, count, extent, -1, p.descending);
    if (p.kth_only)
        for (auto& operand : found) operand = s.emit("Gather", {operand, s.integer(-1)}, {{"axis", -1}});
    return {found[0], s.narrowed(found[1])};
}

// ONNX Runtime knows it of some dtypes only.
Operands export_unique(Site& s) {
    s.rank(0);  // that of its slices follows from it
    DType dtype = s.dtype(), known = is_float(dtype) || dtype == DType::i8 ? dtype : DType::i64;
    if (is_float(dtype) && size_of(dtype) < 4) known = DType::f32;
    Operands found = s.emit_many("Unique", {s.cast(s.in(0), dtype, known)},
                                 {{"axis", 0}, {"sorted", int64_t(s.params<ops::Unique>().sorted)}}, 4);
    found[0] = s.cast(found[0], known, dtype);
    return found;
}

}  // namespace

ExportRows index_rows() {
    static constexpr ExportRow rows[] = {
        {&ops::AddTake::info, export_add_take, "ScatterND"},
        {&ops::CondTake::info, export_cond_take, "Compress, NonZero"},
        {&ops::Embedding::info, export_embedding, "Gather"},
        {&ops::Gather::info, export_gather, "GatherElements"},
        {&ops::IndexingOneHot::info, export_indexing_one_hot, "GatherElements"},
        {&ops::IndexingSetOneHot::info, export_indexing_set_one_hot, "ScatterElements"},
        {&ops::OneHot::info, export_one_hot, "OneHot"},
        {&ops::Scatter::info, export_scatter, "ScatterElements"},
        {&ops::ScatterAdd::info, export_scatter_add, "ScatterElements"},
        {&ops::SetTake::info, export_set_take, "ScatterND"},
        {&ops::Sort::info, export_sort, "TopK"},
        {&ops::Take::info, export_take, "Gather"},
        {&ops::Topk::info, export_topk, "TopK"},
        {&ops::Unique::info, export_unique, "Unique"},
    };
    return rows;
}

}  // namespace mge::to_onnx
