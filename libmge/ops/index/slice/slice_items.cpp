// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/slice/slice_items.h"

#include <algorithm>
#include <functional>

#include "libmge/base/number_text.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/op/op.h"
#include "libmge/tensor/index_error.h"

namespace mge::ops {
namespace {

AxisRange index_range(std::string_view who, int axis, int64_t index, int64_t extent) {
    if (index < -extent || index >= extent) throw_index(who, axis, index, extent);
    return {index < 0 ? index + extent : index, 1, 1, true};
}

int64_t clamp_bound(int64_t bound, int64_t extent, int64_t lowest, int64_t highest) {
    return std::clamp(bound < 0 ? bound + extent : bound, lowest, highest);
}

AxisRange slice_range(std::string_view who, int64_t begin, int64_t end, int64_t step, int64_t extent) {
    if (step == 0) throw_value_error(who, "a slice step must not be 0");
    if (step == absent_bound) step = 1;
    // Going down, the place before the first element is a legal end.
    int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? extent : extent - 1;
    begin = begin == absent_bound ? (step > 0 ? 0 : extent - 1) : clamp_bound(begin, extent, lowest, highest);
    end = end == absent_bound ? (step > 0 ? extent : -1) : clamp_bound(end, extent, lowest, highest);
    int64_t distance = step > 0 ? end - begin : begin - end;
    uint64_t stride = step > 0 ? uint64_t(step) : 0 - uint64_t(step);
    return {begin, step, distance <= 0 ? 0 : int64_t(ceil_div(uint64_t(distance), stride)), false};
}

// The number of elements that slice_range() finds, where something is symbolic.
Extent sliced_extent(std::string_view who, int64_t begin, int64_t end, int64_t step, const Extent& extent) {
    if (Extent::is_handle(step)) throw Undecidable(text('[', who, "] a slice step is symbolic"));
    if (step == 0) throw_value_error(who, "a slice step must not be 0");
    if (step == absent_bound) step = 1;
    const bool is_up = step > 0;
    const Extent lowest = is_up ? 0 : -1, highest = is_up ? extent : extent - 1;
    auto clamped = [&](int64_t raw, const Extent& otherwise) {
        // No extent is as large: sums with such bounds need not fit.
        constexpr int64_t far_away = int64_t(1) << 60;
        if (raw == absent_bound) return otherwise;
        if (raw > far_away) return highest;
        if (raw < -far_away && !Extent::is_handle(raw)) return lowest;
        Extent bound = Extent::from_raw(raw);
        return min_of(max_of(bound >= 0 ? bound : bound + extent, lowest), highest);
    };
    Extent first = clamped(begin, is_up ? Extent(0) : highest), last = clamped(end, is_up ? extent : lowest);
    return max_of(0, is_up ? ceil_div(last - first, step) : ceil_div(first - last, -Extent(step)));
}

}  // namespace

std::vector<AxisRange> ranges_of(std::string_view who, const IntList& items, const Shape& x) {
    if (items.size() % item_size != 0)
        throw_value_error(who, "items has ", counted(items.size(), "number"), ", not five per axis");
    std::vector<AxisRange> ranges;
    for (int64_t extent : x.dims()) ranges.push_back({0, 1, extent, false});
    std::vector<bool> seen(ranges.size(), false);
    for (size_t i = 0; i < items.size(); i += item_size) {
        int axis = normalize_axis(who, items[i], x.rank());
        if (seen[size_t(axis)]) throw_value_error(who, "axis ", axis, " is indexed twice");
        seen[size_t(axis)] = true;
        for (size_t k = 1; k <= 3; ++k)
            if (items[i + k] == bound_from_input)
                throw_value_error(who, "`bounds` has fewer values than `items` refers to");
        ranges[size_t(axis)] = items[i + 4]
                                   ? index_range(who, axis, items[i + 1], x[axis])
                                   : slice_range(who, items[i + 1], items[i + 2], items[i + 3], x[axis]);
    }
    return ranges;
}

Shape sliced_shape(std::string_view who, const IntList& items, const Shape& x) {
    bool is_complete = std::ranges::find(items, bound_from_input) == items.end();
    auto is_symbolic = [](int64_t item) { return item > bound_from_input && Extent::is_handle(item); };
    if (!is_complete || (!x.has_symbols() && std::ranges::none_of(items, is_symbolic)))
        return shape_of_ranges(ranges_of(who, items, x));
    Shape shape = x;
    std::vector<int> dropped;
    for (size_t i = 0; i + item_size <= items.size(); i += item_size) {
        int axis = normalize_axis(who, items[i], x.rank());
        if (items[i + 4])
            dropped.push_back(axis);
        else
            shape.set(axis, sliced_extent(who, items[i + 1], items[i + 2], items[i + 3], x.extent(axis)));
    }
    std::ranges::sort(dropped, std::greater());
    for (int axis : dropped) shape.erase(axis);
    return shape;
}

Shape shape_of_ranges(const std::vector<AxisRange>& ranges) {
    Shape shape;
    for (auto& range : ranges)
        if (!range.dropped) shape.push_back(range.count);
    return shape;
}

std::optional<int64_t> first_of_dense(const std::vector<AxisRange>& ranges, const Shape& x) {
    int64_t first = 0, stride = 1;
    bool is_whole = true;  // later axes are complete
    for (int axis = x.rank(); axis-- > 0;) {
        auto& range = ranges[size_t(axis)];
        if (range.count == 0) return std::nullopt;
        if (range.count > 1 && (range.step != 1 || !is_whole)) return std::nullopt;
        is_whole &= range.count == x[axis];
        first += range.first * stride;
        stride *= x[axis];
    }
    return first;
}

IntList resolve_items(std::string_view who, const IntList& items, std::span<const Tensor> bounds) {
    IntList values, resolved = items;
    for (auto& bound : bounds) {
        IntList more = host_values(bound);
        values.insert(values.end(), more.begin(), more.end());
    }
    size_t next = 0;
    for (size_t i = 0; i < resolved.size(); ++i)
        if (i % item_size != 0 && i % item_size != 4 && resolved[i] == bound_from_input &&
            next < values.size())
            resolved[i] = std::max(values[next++], bound_from_input + 1);
    if (next != values.size())
        throw_value_error(who, "`bounds` has ", counted(values.size(), "value"), ", `items` takes ", next);
    return resolved;
}

}  // namespace mge::ops
