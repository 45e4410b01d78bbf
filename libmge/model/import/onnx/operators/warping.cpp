// SPDX-License-Identifier: Apache-2.0
// Images seen through a grid of places, which are -1 at one end of an axis and 1 at the other.

#include "libmge/device/device.h"
#include "libmge/model/import/onnx/shapes/late_values.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/shape_of.h"
#include "libmge/ops/vision/remap.h"

namespace mge::onnx {
namespace {

// The ends are the centres of the outermost pixels, or their outer edges.
Tensor in_pixels(const Tensor& place, const Tensor& x, int axis, bool aligns_corners) {
    Tensor extent = as_dtype(ops::shape_of(x, {.axis = axis}), place.dtype());
    Tensor half = ops::mul(ops::add(place, real(1)), real(0.5));
    if (aligns_corners) return ops::mul(half, ops::sub(extent, real(1)));
    return ops::sub(ops::mul(half, extent), real(0.5));
}

struct Warp {
    std::string mode, border;
    bool aligns_corners;
};

// Images as rows of channels, and their sizes (f32, rank 0).
struct Rows {
    Tensor values;  // (N, all places, C)
    Tensor batch;   // (N, 1, …)
    Tensors extents;
};

Rows rows_of(const Tensor& x) {
    Rows rows;
    Tensor flat = ops::flatten(x, {.start = 2, .end = -1});
    rows.values = ops::transpose(as_wide(flat), {.pattern = {0, 2, 1}});
    rows.batch = as_column(count_up(extent_of(x, 0), DType::i32), rank_of(x) - 2);
    for (int i = 2; i < rank_of(x); ++i) {
        Tensor extent = ops::reshape(ops::shape_of(x, {.axis = i}), {.shape = {}});
        rows.extents.push_back(as_dtype(extent, DType::f32));
    }
    return rows;
}

// The outermost places of an axis, at which it is mirrored.
struct Ends {
    Tensor first, last;
};
Ends ends_of(const Tensor& extent, const Warp& warp) {
    if (warp.aligns_corners) return {real(0), ops::sub(extent, real(1))};
    return {real(-0.5), ops::sub(extent, real(0.5))};
}

Tensor clamped(const Tensor& place, const Tensor& extent) {
    return ops::minimum(ops::maximum(place, real(0)), ops::sub(extent, real(1)));
}

// Back and forth between the ends.
Tensor mirrored(const Tensor& place, const Ends& ends) {
    Tensor width = ops::maximum(ops::sub(ends.last, ends.first), real(1e-6));
    Tensor period = ops::mul(width, real(2)), way = ops::abs(ops::sub(place, ends.first));
    Tensor rest = ops::sub(way, ops::mul(ops::floor(ops::div(way, period)), period));
    return ops::add(ends.first, ops::minimum(rest, ops::sub(period, rest)));
}

// Places beyond the ends are moved before anything is interpolated; of cubic functions each of the elements
// is.
Tensor moved_inside(const Tensor& place, const Tensor& extent, const Warp& warp) {
    if (warp.border == "zeros" || warp.mode == "cubic") return place;
    Ends ends = ends_of(extent, warp);
    Tensor is_outside = ops::logical_or(ops::less(place, ends.first), ops::greater(place, ends.last));
    Tensor inside = warp.border == "border" ? clamped(place, extent) : mirrored(place, ends);
    return ops::where(is_outside, inside, place);
}

// The rows of channels at integer positions, (N, …, C).
Tensor rows_at(const Rows& rows, const Tensors& places, const Warp& warp) {
    Tensor index, is_inside;
    for (size_t i = 0; i < places.size(); ++i) {
        auto& extent = rows.extents[i];
        Tensor place = places[i];
        if (warp.border == "reflection") place = mirrored(place, ends_of(extent, warp));
        if (warp.border == "zeros") {
            Tensor is_in = ops::logical_and(ops::greater_equal(place, real(0)), ops::less(place, extent));
            is_inside = is_inside ? Tensor(ops::logical_and(is_inside, is_in)) : is_in;
        }
        Tensor at = as_index(clamped(place, extent));
        index = index ? Tensor(ops::add(ops::mul(index, as_index(extent)), at)) : at;
    }
    Tensor found = ops::take({rows.values, rows.batch, index}, {.axes = {0, 1}});
    return is_inside ? Tensor(ops::where(with_trailing_axes(is_inside, 1), found, real(0))) : found;
}

// Weights of the integer positions around a position.
struct Tap {
    Tensor place, weight;
};
// Keys' polynomials with a = -0.75, of the distance to the second of four.
std::vector<Tap> cubic_taps(const Tensor& low, const Tensor& rest) {
    constexpr double a = -0.75;
    auto plus = [](const Tensor& x, double number) -> Tensor { return ops::add(x, real(number)); };
    auto near = [&](const Tensor& d) -> Tensor {  // ((a + 2) d - (a + 3)) d^2 + 1
        return plus(ops::mul(ops::mul(plus(ops::mul(d, real(a + 2)), -(a + 3)), d), d), 1);
    };
    auto far = [&](const Tensor& d) -> Tensor {  // ((a d - 5 a) d + 8 a) d - 4 a
        return plus(ops::mul(plus(ops::mul(plus(ops::mul(d, real(a)), -5 * a), d), 8 * a), d), -4 * a);
    };
    Tensor other = ops::sub(real(1), rest);
    return {{plus(low, -1), far(plus(rest, 1))},
            {low, near(rest)},
            {plus(low, 1), near(other)},
            {plus(low, 2), far(plus(other, 1))}};
}
std::vector<Tap> taps_of(const Tensor& place, const std::string& mode) {
    if (mode == "nearest") return {{ops::round_to_even(place), {}}};
    Tensor low = ops::floor(place), rest = ops::sub(place, low);
    if (mode == "cubic") return cubic_taps(low, rest);
    return {{low, ops::sub(real(1), rest)}, {ops::add(low, real(1)), rest}};
}

// The sum over all combinations of the axes' taps.
Tensor warped(const Rows& rows, const std::vector<std::vector<Tap>>& taps, const Warp& warp) {
    size_t count = 1;
    for (auto& axis : taps) count *= axis.size();
    Tensor sum;
    for (size_t n = 0; n < count; ++n) {
        Tensors places;
        Tensor weight;
        size_t rest = n;
        for (auto& axis : taps) {
            auto& tap = axis[rest % axis.size()];
            rest /= axis.size();
            places.push_back(tap.place);
            if (tap.weight) weight = weight ? Tensor(ops::mul(weight, tap.weight)) : tap.weight;
        }
        Tensor part = rows_at(rows, places, warp);
        if (weight) part = ops::mul(part, with_trailing_axes(weight, 1));
        sum = sum ? Tensor(ops::add(sum, part)) : part;
    }
    return sum;
}

Tensors import_grid_sample(const Site& site) {
    const Tensor &x = site.in(0), &grid = site.in(1);
    std::string mode = site.attributes.word("mode", "linear");
    if (mode.starts_with("bi")) mode = mode.substr(2);
    Warp warp{mode, site.attributes.word("padding_mode", "zeros"),
              bool(site.attributes.integer("align_corners", 0))};
    int axes = rank_of(x) - 2;
    if (axes < 1 || axes > 3 || rank_of(grid) != axes + 2)
        unsupported("a grid of rank ", rank_of(grid), " over images of rank ", rank_of(x));
    if (mode != "linear" && mode != "nearest" && mode != "cubic") unsupported("the mode '", mode, "'");
    if (warp.border != "zeros" && warp.border != "border" && warp.border != "reflection")
        unsupported("the border '", warp.border, "'");
    const DType dtype = wide(x.dtype());
    // The last axis is the first number of a place.
    auto along = [&](int axis) {
        int64_t i = axes + 1 - axis;
        Tensor place = as_dtype(cut(grid, axes + 1, i, i + 1), dtype);
        return in_pixels(place, x, axis, warp.aligns_corners);
    };
    if (axes == 2 && mode == "linear" && warp.border != "reflection" && x.dtype() == DType::f32) {
        Tensor map = ops::concat({along(3), along(2)}, {.axis = 3});
        auto outside = warp.border == "zeros" ? ops::Border::constant : ops::Border::replicate;
        return {ops::remap(x, map, Tensor(), {.border = outside})};
    }
    Rows rows = rows_of(x);
    std::vector<std::vector<Tap>> taps;
    for (int i = 0; i < axes; ++i) {
        Tensor place = ops::remove_axis(along(i + 2), {.axes = {axes + 1}});
        if (mode == "nearest") place = ops::round_to_even(place);
        taps.push_back(taps_of(moved_inside(place, rows.extents[size_t(i)], warp), mode));
    }
    Tensor y = warped(rows, taps, warp);
    return {as_dtype(moved_axis(y, axes + 1, 1), x.dtype())};
}

}  // namespace

ImportRows warping_rows() {
    static constexpr ImportRow rows[] = {
        {"GridSample", import_grid_sample, 16},
    };
    return rows;
}

}  // namespace mge::onnx
