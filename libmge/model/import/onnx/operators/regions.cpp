// SPDX-License-Identifier: Apache-2.0
// Regions of images: cropped, pooled, sampled at moved positions, assembled from columns.

#include <algorithm>
#include <limits>

#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/model/import/onnx/operators/windows.h"
#include "libmge/model/import/onnx/shapes/late_values.h"
#include "libmge/op/apply.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/nn/pooling/pool2d.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/broadcast.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/pad.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/shape_of.h"
#include "libmge/ops/vision/remap.h"
#include "libmge/ops/vision/roi_pool2d.h"

namespace mge::onnx {
namespace {

Tensor each_of(const Tensor& vector, int64_t i) { return as_dtype(cut(vector, 0, i, i + 1), DType::i64); }

// Positions in pixels, of broadcastable shapes, as a map for remap: (…, 2), columns first.
Tensor as_map(const Tensor& rows, const Tensor& columns) {
    Tensor none = ops::mul(ops::add(rows, columns), real(0));
    auto part = [&](const Tensor& t) -> Tensor { return ops::add_axis(ops::add(t, none), {.axes = {-1}}); };
    return ops::concat({part(columns), part(rows)}, {.axis = -1});
}

// The columns of a window along an axis in the assembled image: positions of (taps, windows), as i64.
struct Columns {
    Tensor place, is_inside;
    Tensor windows;  // their number, (1,)
};
struct ColumnAxis {
    Tensor extent, taps;  // (1,)
    int64_t dilation, stride, before, after;
};
Columns columns_of(const ColumnAxis& a, int axis, int axes) {
    Tensor reach = ops::add(ops::mul(ops::sub(a.taps, whole(1)), whole(a.dilation)), whole(1));
    Tensor last_start = ops::sub(ops::add(a.extent, whole(a.before + a.after)), reach);
    Columns c{.place = {},
              .is_inside = {},
              .windows = ops::add(ops::floor_div(last_start, whole(a.stride)), whole(1))};
    Tensor tap = as_column(count_up(a.taps, DType::i64), 2 * axes - 1 - axis);
    Tensor window = as_column(count_up(c.windows, DType::i64), axes - 1 - axis);
    Tensor first = ops::sub(ops::mul(window, whole(a.stride)), whole(a.before));
    c.place = ops::add(ops::mul(tap, whole(a.dilation)), first);
    c.is_inside = ops::logical_and(ops::greater_equal(c.place, whole(0)), ops::less(c.place, a.extent));
    return c;
}

// Positions of the samples of a region's cells along an axis, (R, cells * samples), and which of them count.
struct Samples {
    Tensor place, is_inside;
    // If each region has its own number of samples: the largest number, i64 (1,); each number, f32 (R, 1);
    // the valid samples, in the shape of the positions.
    Tensor most, own, is_one;
};
struct Cells {
    int64_t count, samples;  // 0: a sample for each pixel of a cell
    double scale;
    bool is_half_pixel;
};
Samples samples_of(const Tensor& x, int axis, const Tensor& from, const Tensor& to, const Cells& cells) {
    Samples s;
    Tensor offset = real(cells.is_half_pixel ? 0.5 : 0);
    auto edge = [&](const Tensor& t) -> Tensor { return ops::sub(ops::mul(t, real(cells.scale)), offset); };
    Tensor first = edge(from), length = ops::sub(edge(to), first);
    // A region is one pixel at least where its corners are not moved.
    if (!cells.is_half_pixel) length = ops::maximum(length, real(1));
    if (cells.samples) {
        Tensor step = ops::div(length, real(double(cells.count * cells.samples)));
        Tensor number = ops::add(count_up(cells.count * cells.samples, from.dtype()), real(0.5));
        s.place = ops::add(first, ops::mul(number, step));
    } else {
        Tensor cell = ops::div(length, real(double(cells.count)));
        s.own = ops::maximum(ops::ceil(cell), real(0));
        // There may be no regions.
        Tensor counts = ops::pad(s.own, {.before = {0, 0}, .after = {1, 0}, .value = 1});
        s.most = as_dtype(ops::max(counts, {.axes = {0}}), DType::i64);
        Tensor number = count_up(Extent(Tensor(ops::mul(s.most, whole(cells.count)))), DType::i64);
        Tensor sample = as_float(ops::mod(number, s.most));
        s.is_one = ops::less(sample, s.own);
        Tensor part = ops::div(ops::add(sample, real(0.5)), ops::maximum(s.own, real(1)));
        s.place = ops::add(first, ops::mul(ops::add(as_float(ops::floor_div(number, s.most)), part), cell));
    }
    Tensor extent = as_float(ops::shape_of(x, {.axis = axis}));
    s.is_inside = ops::logical_and(ops::greater_equal(s.place, real(-1)), ops::less_equal(s.place, extent));
    s.place = ops::minimum(ops::maximum(s.place, real(0)), ops::sub(extent, real(1)));
    return s;
}

// The mean, or the largest, of the samples (R, C, rows, columns) of each cell, where their numbers differ.
Tensor reduced_cells(const Tensor& values, const Samples& rows, const Samples& columns, bool is_max) {
    Tensor is_one = ops::logical_and(ops::add_axis(rows.is_one, {.axes = {1, 3}}),
                                     ops::add_axis(columns.is_one, {.axes = {1, 2}}));
    double none = is_max ? -std::numeric_limits<double>::infinity() : 0;
    Tensor parts = ops::where(is_one, values, number(values, none));
    Tensor extents = as_dtype(ops::shape_of(values), DType::i64);
    auto cells = [&](int axis, const Samples& s) -> Tensor {
        return ops::floor_div(cut(extents, 0, axis, axis + 1), s.most);
    };
    Tensor target = ops::concat(
        {cut(extents, 0, 0, 2), cells(2, rows), rows.most, cells(3, columns), columns.most}, {.axis = 0});
    parts = ops::reshape(parts, target);
    parts = is_max ? ops::max(parts, {.axes = {3, 5}}) : ops::sum(parts, {.axes = {3, 5}});
    Tensor count = ops::mul(rows.own, columns.own);
    Tensor own = ops::add_axis(ops::maximum(count, real(1)), {.axes = {2, 3}});
    if (!is_max) return ops::div(parts, own);
    return ops::where(ops::add_axis(ops::greater(count, real(0)), {.axes = {2, 3}}), parts, number(parts, 0));
}

// The pixels at integer positions. Remap has no f64.
Tensor pixels_at(const Tensor& x, const Tensor& rows, const Tensor& columns, const Tensor& image) {
    if (x.dtype() != DType::f64)
        return ops::remap(x, as_map(rows, columns), image, {.interpolation = ops::Interpolation::nearest});
    auto inside = [&](const Tensor& place, int axis) {
        Tensor extent = as_dtype(ops::shape_of(x, {.axis = axis}), place.dtype());
        return as_index(ops::minimum(place, ops::sub(extent, real(1))));
    };
    Tensor pixels = ops::transpose(x, {.pattern = {0, 2, 3, 1}});
    Tensor found =
        ops::take({pixels, as_column(image, 2), inside(rows, 2), inside(columns, 3)}, {.axes = {0, 1, 2}});
    return ops::transpose(found, {.pattern = {0, 3, 1, 2}});
}

// The mean, or the largest, of the samples (R, C, rows, columns) of each cell. Pooling has no f64.
Tensor pooled(const Tensor& values, int64_t samples, bool is_max) {
    ops::Pair window{samples, samples};
    if (values.dtype() != DType::f64)
        return is_max ? ops::max_pool2d(values, {.kernel = window, .stride = window})
                      : ops::avg_pool2d(values, {.kernel = window, .stride = window});
    Tensor extents = as_dtype(ops::shape_of(values), DType::i64), own = vector_of({samples});
    auto cells = [&](int axis) -> Tensor { return ops::floor_div(cut(extents, 0, axis, axis + 1), own); };
    Tensor target = ops::concat({cut(extents, 0, 0, 2), cells(2), own, cells(3), own}, {.axis = 0});
    Tensor parts = ops::reshape(values, target);
    return is_max ? ops::max(parts, {.axes = {3, 5}}) : ops::mean(parts, {.axes = {3, 5}});
}

// The sum, or the largest, of the four pixels around a sample times their weights.
Tensor of_four_pixels(const Tensor& x, const Samples& y_axis, const Samples& x_axis, const Tensor& image,
                      bool is_max) {
    Tensor result;
    for (int corner = 0; corner < 4; ++corner) {
        Tensor places[2], weights[2];
        for (int i = 0; i < 2; ++i) {
            Tensor place = i ? x_axis.place : y_axis.place, low = ops::floor(place);
            Tensor rest = ops::sub(place, low);
            bool is_high = corner >> i & 1;
            places[i] = is_high ? Tensor(ops::add(low, real(1))) : low;
            weights[i] = is_high ? rest : Tensor(ops::sub(real(1), rest));
        }
        Tensor pixel = pixels_at(x, places[0], places[1], image);
        Tensor part = ops::mul(pixel, ops::add_axis(ops::mul(weights[0], weights[1]), {.axes = {1}}));
        result = !result ? part : is_max ? larger(result, part) : Tensor(ops::add(result, part));
    }
    return result;
}

// The middle of an axis, or zeros at both of its ends.
Tensors import_center_crop_pad(const Site& site) {
    const Tensor& x = site.in(0);
    int rank = rank_of(x);
    IntList axes = site.attributes.integers("axes").value_or(all_axes(rank));
    if (length_of(site.in(1), "a shape") != int(axes.size()))
        invalid("it has ", counted(site.in(1).shape()[0], "size"), " for ",
                counted(axes.size(), "axis", "axes"));
    Tensor y = x;
    for (size_t i = 0; i < axes.size(); ++i) {
        int axis = site.axis(axes[i], rank);
        Tensor wanted = each_of(site.in(1), int64_t(i)), have = std::get<Tensor>(extent_of(x, axis));
        Tensor less = ops::sub(have, wanted), half = ops::floor_div(ops::abs(less), whole(2));
        Extent first = Tensor(ops::where(ops::greater(less, whole(0)), half, ops::neg(half)));
        Stretch stretch{axis, rank - 1 - axis, have, first, wanted};
        y = stretch_of(y, stretch, Outside::value, number(x, 0));
    }
    return {y};
}

// Columns (N, C * taps, windows) are added up at their positions; positions outside go to an extra place.
Tensors import_col2im(const Site& site) {
    const Tensor& x = site.in(0);
    int axes = length_of(site.in(1), "a shape");
    if (axes < 1 || 2 * axes > max_rank) unsupported("images with ", axes, " spatial axes");
    auto numbers = [&](std::string_view name, size_t count, int64_t least) {
        auto given = site.attributes.integers(name).value_or(IntList(count, least));
        if (given.size() != count)
            invalid("its attribute '", name, "' has ", counted(given.size(), "number"));
        for (int64_t n : given)
            if (n < least || n > largest_window) invalid("its attribute '", name, "' holds ", n);
        return given;
    };
    auto count = size_t(axes);
    auto dilations = numbers("dilations", count, 1), strides = numbers("strides", count, 1);
    auto pads = numbers("pads", 2 * count, 0);
    Tensor place, is_inside, size = vector_of({1}), taps = size, columns = size;
    for (int i = 0; i < axes; ++i) {
        auto at = size_t(i);
        ColumnAxis axis{each_of(site.in(1), i), each_of(site.in(2), i), dilations[at], strides[at], pads[at],
                        pads[at + count]};
        Columns c = columns_of(axis, i, axes);
        place = place ? Tensor(ops::add(ops::mul(place, axis.extent), c.place)) : c.place;
        is_inside = is_inside ? Tensor(ops::logical_and(is_inside, c.is_inside)) : c.is_inside;
        size = ops::mul(size, axis.extent);
        taps = ops::mul(taps, axis.taps);
        columns = ops::mul(columns, ops::mul(axis.taps, c.windows));
    }
    place = as_index(ops::reshape(ops::where(is_inside, place, size), {.shape = {-1}}));
    Tensor batch = std::get<Tensor>(extent_of(x, 0)), with_spill = ops::add(size, whole(1));
    Tensor channels = ops::floor_div(std::get<Tensor>(extent_of(x, 1)), taps);
    Tensor flat = ops::reshape(x, ops::concat({batch, channels, columns}, {.axis = 0}));
    Tensor empty = ops::full(ops::concat({batch, channels, with_spill}, {.axis = 0}), {.dtype = x.dtype()});
    Tensor sums = ops::add_take({empty, flat, place}, {.axes = {2}});
    Stretch inside{2, 0, with_spill, 0, size};
    Tensor image = stretch_of(sums, inside, Outside::edge, {});
    Tensor target = ops::concat({batch, channels, as_dtype(site.in(1), DType::i64)}, {.axis = 0});
    return {ops::reshape(image, target)};
}

// The places of pixels in an image of another size, moved by matrices (N, axes, axes + 1).
Tensors import_affine_grid(const Site& site) {
    const Tensor &matrices = site.in(0), &size = site.in(1);
    int axes = length_of(size, "a size") - 2;
    if (axes < 2 || axes > 3) invalid("its size has ", counted(axes + 2, "number"), ", expected 4 or 5");
    bool aligns_corners = site.attributes.integer("align_corners", 0);
    const DType dtype = wide(matrices.dtype());
    Tensors places;
    // The last axis is the first number of a place.
    for (int i = axes - 1; i >= 0; --i) {
        Tensor extent = each_of(size, i + 2), length = as_dtype(extent, dtype);
        Tensor count = count_up(extent, dtype), place;
        if (aligns_corners)
            place =
                ops::sub(ops::mul(count, ops::div(real(2), ops::maximum(ops::sub(length, real(1)), real(1)))),
                         real(1));
        else
            place = ops::sub(ops::div(ops::add(ops::mul(count, real(2)), real(1)), length), real(1));
        places.push_back(as_column(place, axes - 1 - i));
    }
    Tensor none = real(0, dtype);
    for (auto& place : places) none = ops::mul(ops::add(none, place), real(0));
    places.push_back(real(1));
    Tensors columns;
    for (auto& place : places) columns.push_back(ops::reshape(ops::add(place, none), {.shape = {-1, 1}}));
    Tensor all = ops::concat(TensorList(columns), {.axis = 1});
    Tensor moved = ops::matmul(all, as_wide(matrices), {.transpose_b = true});
    Tensor target = ops::concat({as_dtype(cut(size, 0, 0, 1), DType::i64),
                                 as_dtype(cut(size, 0, 2, axes + 2), DType::i64), vector_of({axes})},
                                {.axis = 0});
    return {as_dtype(ops::reshape(moved, target), matrices.dtype())};
}

Tensors import_max_roi_pool(const Site& site) {
    auto shape = site.attributes.integers("pooled_shape");
    if (!shape || shape->size() != 2) invalid("it has no pooled_shape of two numbers");
    return {ops::roi_pool2d(
        site.in(0), site.in(1),
        {.height = (*shape)[0], .width = (*shape)[1], .scale = site.attributes.number("spatial_scale", 1)})};
}

// Cells of regions (R, 4: x1, y1, x2, y2), each the mean or the largest of samples between pixels.
Tensors import_roi_align(const Site& site) {
    Tensor x = as_wide(site.in(0)), regions = as_dtype(site.in(1), x.dtype()), image = as_index(site.in(2));
    std::string mode = site.attributes.word("mode", "avg");
    std::string how = site.attributes.word("coordinate_transformation_mode",
                                           site.opset < 16 ? "output_half_pixel" : "half_pixel");
    int64_t samples = site.attributes.integer("sampling_ratio", 0);
    if (samples < 0) invalid("its sampling_ratio is ", samples, ", expected at least 0");
    if (mode != "avg" && mode != "max") unsupported("the mode '", mode, "'");
    int64_t height = site.attributes.integer("output_height", 1),
            width = site.attributes.integer("output_width", 1);
    if (std::min(height, width) < 1 || std::max({height, width, samples}) > most_taps)
        unsupported("regions of ", height, " x ", width, " cells with ", samples, " samples each");
    Cells cells{height, samples, site.attributes.number("spatial_scale", 1), how == "half_pixel"};
    auto corner = [&](int64_t i) { return cut(regions, 1, i, i + 1); };
    Samples rows = samples_of(x, 2, corner(1), corner(3), cells);
    cells.count = width;
    Samples columns = samples_of(x, 3, corner(0), corner(2), cells);
    for (auto* t : {&rows.place, &rows.is_inside}) *t = ops::add_axis(*t, {.axes = {2}});
    for (auto* t : {&columns.place, &columns.is_inside}) *t = ops::add_axis(*t, {.axes = {1}});
    const bool is_max = mode == "max", is_fused = !is_max && x.dtype() == DType::f32;
    Tensor values = is_fused ? Tensor(ops::remap(x, as_map(rows.place, columns.place), image))
                             : of_four_pixels(x, rows, columns, image, is_max);
    Tensor counts = ops::add_axis(ops::logical_and(rows.is_inside, columns.is_inside), {.axes = {1}});
    values = ops::where(counts, values, number(values, 0));
    Tensor y = samples ? pooled(values, samples, is_max) : reduced_cells(values, rows, columns, is_max);
    return {as_dtype(y, site.in(0).dtype())};
}

// A convolution whose taps are displaced by offsets (N, groups * taps * 2, …), rows first: the pixels below
// each tap become channels of a 1×1 convolution.
Tensors import_deform_conv(const Site& site) {
    const Tensor &x = site.in(0), &offset = site.in(2);
    auto shape = find_shape(site.in(1));
    auto channels = find_extent(x, 1);
    if (!shape || shape->rank() != 4 || !channels || rank_of(x) != 4)
        unsupported("images of a rank other than 4");
    if (x.dtype() != DType::f32) unsupported("images of ", x.dtype());
    IntList kernel{(*shape)[2], (*shape)[3]};
    site.attributes.integers("kernel_shape");
    Window window = window_of(site, kernel);
    int64_t taps = kernel[0] * kernel[1], groups = site.attributes.integer("group", 1);
    int64_t moved_groups = site.attributes.integer("offset_group", 1);
    if (moved_groups < 1 || *channels % moved_groups || groups < 1 || (*shape)[0] % groups)
        invalid("its ", counted(moved_groups, "offset group"), " do not divide ",
                counted(*channels, "channel"));
    if (taps * moved_groups > most_taps) unsupported("a window of more than ", most_taps, " taps");
    int64_t width = *channels / moved_groups;
    // The start of the window.
    auto first = [&](int i) -> Tensor {
        Tensor count = count_up(extent_of(offset, i + 2), DType::f32);
        Tensor place = ops::sub(ops::mul(count, real(double(window.stride[size_t(i)]))),
                                real(double(window.before[size_t(i)])));
        return i ? place : as_column(place, 1);
    };
    Tensor rows = first(0), columns = first(1);
    Tensors parts;
    for (int64_t g = 0; g < moved_groups; ++g) {
        Tensor part = cut(x, 1, g * width, (g + 1) * width);
        for (int64_t tap = 0; tap < taps; ++tap) {
            int64_t n = g * taps + tap;
            double down = double(tap / kernel[1] * window.dilation[0]),
                   right = double(tap % kernel[1] * window.dilation[1]);
            Tensor row = ops::add(ops::add(rows, real(down)), element(offset, 1, 2 * n));
            Tensor column = ops::add(ops::add(columns, real(right)), element(offset, 1, 2 * n + 1));
            Tensor seen = ops::remap(part, as_map(row, column), Tensor(), {.border = ops::Border::constant});
            if (site.has(4)) seen = ops::mul(seen, cut(site.in(4), 1, n, n + 1));
            parts.push_back(ops::add_axis(seen, {.axes = {2}}));
        }
    }
    Tensors by_group;
    for (int64_t g = 0; g < moved_groups; ++g) {
        Tensors own(parts.begin() + g * taps, parts.begin() + (g + 1) * taps);
        by_group.push_back(ops::concat(TensorList(own), {.axis = 2}));
    }
    Tensor all = ops::flatten(ops::concat(TensorList(by_group), {.axis = 1}), {.start = 1, .end = 2});
    IntList flat{(*shape)[0], (*shape)[1] * taps, 1, 1};
    if (groups > 1) flat = {groups, flat[0] / groups, flat[1], 1, 1};
    Tensor y = ops::conv2d(all, ops::reshape(site.in(1), {.shape = flat}), {.groups = groups});
    return {site.has(3) ? Tensor(ops::add(y, ops::reshape(site.in(3), {.shape = {1, -1, 1, 1}}))) : y};
}

}  // namespace

ImportRows regions_rows() {
    static constexpr ImportRow rows[] = {
        {"AffineGrid", import_affine_grid, 20}, {"CenterCropPad", import_center_crop_pad, 18},
        {"Col2Im", import_col2im, 18},          {"DeformConv", import_deform_conv, 19},
        {"MaxRoiPool", import_max_roi_pool},    {"RoiAlign", import_roi_align, 10},
    };
    return rows;
}

}  // namespace mge::onnx
