// SPDX-License-Identifier: Apache-2.0
#pragma once
// Basic indexing as plain data: five integers per indexed axis — axis, begin, end, step, is_index.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "libmge/base/reflect.h"
#include "libmge/tensor/shape.h"
#include "libmge/tensor/tensor.h"

namespace mge::ops {

// Instead of a begin or an end: it was left out; it comes from the next value of the host inputs.
inline constexpr int64_t absent_bound = INT64_MIN;
inline constexpr int64_t bound_from_input = INT64_MIN + 1;
inline constexpr size_t item_size = 5;

// Which elements of an axis are taken: first + i * step for i in [0, count).
struct AxisRange {
    int64_t first = 0, step = 1, count = 0;
    bool dropped = false;  // an index: the axis is not in the result
};

// One range per axis of x. Bounds are clamped as Python does; an index out of range, a step of zero, an axis
// named twice or a malformed list are UserErrors.
std::vector<AxisRange> ranges_of(std::string_view who, const IntList& items, const Shape& x);
// The shape of x[items]; extents and bounds may be symbolic. An index at a symbolic extent is taken to be in
// range.
Shape sliced_shape(std::string_view who, const IntList& items, const Shape& x);
// The extents of x[ranges].
Shape shape_of_ranges(const std::vector<AxisRange>& ranges);
// The offset of the first element of x[ranges] if the elements are contiguous in x; otherwise nullopt, also
// without elements.
std::optional<int64_t> first_of_dense(const std::vector<AxisRange>& ranges, const Shape& x);
// The items with the values of the host inputs inserted in order. A value that is absent was omitted.
IntList resolve_items(std::string_view who, const IntList& items, std::span<const Tensor> bounds);

}  // namespace mge::ops
