// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "libmge/model/export/onnx/parts.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/slice/slice_items.h"

namespace mge::to_onnx {
namespace {

constexpr int64_t beyond_end = std::numeric_limits<int64_t>::max();
constexpr int64_t before_begin = std::numeric_limits<int64_t>::min();

// A number, or an operand of one int64 that is known only at run time.
struct Bound {
    int64_t number = 0;
    Operand operand{};
};
struct Item {
    int64_t axis = 0;
    Bound begin, end, step;
    bool is_index = false;
};

// The values of the host inputs from `first` on, one after the other.
std::vector<Bound> bounds_of(Site& s, size_t first) {
    std::vector<Bound> result;
    for (size_t i = first; i < s.size(); ++i) {
        int64_t count = s.fixed_shape(i).numel();
        if (Tensor value = s.known(i)) {
            for (int64_t number : integers_of(value)) result.push_back({number});
        } else if (count == 1) {
            result.push_back({0, s.reshape(s.wide(i), {1})});
        } else {
            for (int64_t k = 0; k < count; ++k)
                result.push_back({0, s.emit("Gather", {s.wide(i), s.integers({k})})});
        }
    }
    return result;
}

std::vector<Item> items_of(Site& s, const IntList& items, size_t first_bound) {
    auto bounds = bounds_of(s, first_bound);
    auto next = bounds.begin();
    auto bound = [&](int64_t number, int64_t otherwise) {
        if (number == ops::bound_from_input && next != bounds.end()) return *next++;
        return Bound{number == ops::absent_bound ? otherwise : number};
    };
    std::vector<Item> result;
    for (size_t i = 0; i + ops::item_size <= items.size(); i += ops::item_size) {
        Item item{items[i], bound(items[i + 1], ops::absent_bound), bound(items[i + 2], ops::absent_bound),
                  bound(items[i + 3], 1), items[i + 4] != 0};
        bool is_open = !item.is_index &&
                       (item.begin.number == ops::absent_bound || item.end.number == ops::absent_bound);
        if (is_open && !item.step.operand.empty()) unsupported("a step that is known only at run time");
        bool is_ascending = item.step.number > 0;
        if (item.begin.number == ops::absent_bound) item.begin.number = is_ascending ? 0 : beyond_end;
        if (item.end.number == ops::absent_bound) item.end.number = is_ascending ? beyond_end : before_begin;
        if (s.rank(0) && item.axis < 0) item.axis += s.rank(0);
        // Backwards from before the first element there is nothing; for ONNX it is from the first.
        auto extent = s.shapes.extent(s.id(0), int(item.axis));
        bool is_before = item.begin.operand.empty() && extent && item.begin.number < -*extent;
        if (is_before && item.step.number < 0 && !item.is_index) item.begin = item.end = {};
        result.push_back(item);
    }
    std::ranges::sort(result, {}, &Item::axis);
    return result;
}

Operand joined(Site& s, const std::vector<Item>& items, Bound Item::*bound) {
    Operands parts;
    IntList numbers;
    for (auto& item : items) {
        auto& [number, operand] = item.*bound;
        numbers.push_back(number);
        parts.push_back(operand.empty() ? s.integers({number}) : operand);
    }
    bool are_numbers = std::ranges::all_of(items, [&](auto& item) { return (item.*bound).operand.empty(); });
    return are_numbers ? s.integers(numbers) : s.emit("Concat", parts, {{"axis", 0}});
}

// x[items]: slices first; then indices, from the last axis on, as each takes its axis away.
Operand read(Site& s, Operand x, const std::vector<Item>& items) {
    std::vector<Item> slices, indices;
    for (auto& item : items) (item.is_index ? indices : slices).push_back(item);
    if (!slices.empty()) {
        IntList axes;
        for (auto& item : slices) axes.push_back(item.axis);
        x = s.emit("Slice", {x, joined(s, slices, &Item::begin), joined(s, slices, &Item::end),
                             s.integers(axes), joined(s, slices, &Item::step)});
    }
    for (auto item = indices.rbegin(); item != indices.rend(); ++item) {
        auto& [number, operand] = item->begin;
        Operand index = operand.empty() ? s.integer(number) : s.emit("Squeeze", {operand});
        x = s.emit("Gather", {x, index}, {{"axis", item->axis}});
    }
    return x;
}

// Offset of x[items] once the partially indexed axes are moved to the front.
struct Places {
    IntList pattern, back;  // brings those axes to the front, and back
    IntList dropped;
    Tensor indices;  // (extents of these axes, how many they are)
};

Tensor index_grid(const std::vector<ops::AxisRange>& ranges, const IntList& axes) {
    IntList values;
    Shape shape;
    for (int64_t axis : axes) shape.push_back(ranges[size_t(axis)].count);
    for (int64_t i = 0; i < shape.numel(); ++i) {
        IntList place(axes.size());
        int64_t rest = i;
        for (size_t k = axes.size(); k-- > 0; rest /= shape[int(k)]) {
            auto& range = ranges[size_t(axes[k])];
            place[k] = range.first + rest % shape[int(k)] * range.step;
        }
        values.insert(values.end(), place.begin(), place.end());
    }
    shape.push_back(int64_t(axes.size()));
    return integer_tensor(values).with_shape(shape);
}

// True if the items keep the axis at every size: x[:].
bool takes_whole(const IntList& items, int axis) {
    for (size_t i = 0; i < items.size(); i += ops::item_size) {
        auto [begin, end, step] = std::tie(items[i + 1], items[i + 2], items[i + 3]);
        bool is_whole = (begin == 0 || begin == ops::absent_bound) && end == ops::absent_bound &&
                        (step == 1 || step == ops::absent_bound) && !items[i + 4];
        if (items[i] == axis && !is_whole) return false;
    }
    return true;
}

Places places_of(Site& s, const IntList& items) {
    for (size_t i = 2; i < s.size(); ++i)
        if (!s.known(i)) unsupported("bounds that are known only at run time");
    Tensors bounds;
    for (size_t i = 2; i < s.size(); ++i) bounds.push_back(s.known(i));
    auto resolved = ops::resolve_items(s.node.op->name, items, bounds);
    Shape sizes;
    for (int axis = 0; axis < s.rank(0); ++axis)
        sizes.push_back(takes_whole(resolved, axis) ? s.shapes.extent(s.id(0), axis).value_or(1)
                                                    : s.extent(0, axis));
    auto ranges = ops::ranges_of(s.node.op->name, resolved, sizes);
    Places places;
    IntList taken, whole;
    for (int axis = 0; axis < s.rank(0); ++axis) {
        auto& range = ranges[size_t(axis)];
        if (range.dropped) places.dropped.push_back(axis);
        bool is_whole = !range.dropped && range.step == 1 && range.count == sizes[axis];
        (is_whole ? whole : taken).push_back(axis);
    }
    places.indices = index_grid(ranges, taken);
    places.pattern = taken;
    places.pattern.insert(places.pattern.end(), whole.begin(), whole.end());
    places.back.resize(places.pattern.size());
    for (size_t i = 0; i < places.pattern.size(); ++i) places.back[size_t(places.pattern[i])] = int64_t(i);
    return places;
}

Operands changed(Site& s, const IntList& items, bool adds) {
    Places places = places_of(s, items);
    if (places.indices.shape()[0] == 0 && places.indices.shape().rank() > 1) return export_identity(s);
    Operand present = read(s, s.in(0), items_of(s, items, 2));
    int surplus = s.rank(1) - (s.rank(0) - int(places.dropped.size()));
    IntList leading(size_t(std::max(0, surplus)));
    std::iota(leading.begin(), leading.end(), 0);
    Operand value = s.emit("Expand", {s.squeeze(s.in(1), leading), s.emit("Shape", {present})});
    if (adds) value = s.arithmetic("Add", present, value, s.dtype());
    if (places.indices.shape()[places.indices.shape().rank() - 1] == 0) return {value};  // all of x
    value = s.transpose(s.unsqueeze(value, places.dropped), places.pattern);
    Operand result =
        s.emit("ScatterND", {s.transpose(s.in(0), places.pattern), s.constant(places.indices), value});
    return {s.transpose(result, places.back)};
}

Operands export_slice(Site& s) { return {read(s, s.in(0), items_of(s, s.params<ops::Slice>().items, 1))}; }
Operands export_set_slice(Site& s) { return changed(s, s.params<ops::SetSlice>().items, false); }
Operands export_add_slice(Site& s) { return changed(s, s.params<ops::AddSlice>().items, true); }

}  // namespace

ExportRows slice_rows() {
    static constexpr ExportRow rows[] = {
        {&ops::AddSlice::info, export_add_slice, "Slice, Add, ScatterND"},
        {&ops::SetSlice::info, export_set_slice, "ScatterND"},
        {&ops::Slice::info, export_slice, "Slice"},
    };
    return rows;
}

}  // namespace mge::to_onnx
