// SPDX-License-Identifier: Apache-2.0
// Images in another size, one axis after the other: which elements, and how much of each, follows from the
// sizes, and so do the operators that compute it. Other sizes at run time therefore work as well.

#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/model/import/onnx/shapes/late_values.h"
#include "libmge/model/import/onnx/wire/integer_range.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/clip.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/shape_of.h"

namespace mge::onnx {
namespace {

// How a version of an operator resizes; the defaults are those before version 11.
struct Style {
    std::string mode = "nearest", coordinates = "asymmetric", nearest = "simple";
    double cubic = -0.75, beyond = 0;
    bool excludes_outside = false;
    // If the image shrinks, averages over a window that grows accordingly.
    bool smooths = false;
};

// One axis of the old and the new image; the tensors are f32, or f64 for images of f64 that are interpolated,
// of rank 0 or one number per new element.
struct Axis {
    int axis;
    int trailing;  // axes behind it
    Tensor have, scale;
    Tensor length;      // length of the new axis before rounding
    Tensor want;        // the new size
    Tensor count;       // 0, 1, … of the new elements
    Tensor begin, end;  // bounds of the part of interest, 0 to 1; null: all
    Tensor is_ratio;    // whether the scale is want / have, to the precision of f32; null: it is
};

// Positions in a part of the old image.
Tensor places_in_part(const Axis& a) {
    Tensor one = real(1), last = ops::sub(a.have, one), part = ops::sub(a.end, a.begin);
    Tensor steps = ops::maximum(ops::sub(a.want, one), one);
    Tensor spread =
        ops::add(ops::div(ops::mul(a.count, ops::mul(part, last)), steps), ops::mul(a.begin, last));
    Tensor middle = ops::mul(ops::mul(ops::add(a.begin, a.end), last), real(0.5));
    return ops::where(ops::greater(a.want, one), spread, middle);
}

// Positions of the new elements among the old ones.
Tensor places(const Axis& a, const std::string& how) {
    Tensor half = real(0.5), one = real(1);
    Tensor centre = ops::div(ops::add(a.count, half), a.scale);
    if (how == "half_pixel") return ops::sub(centre, half);
    if (how == "asymmetric") return ops::div(a.count, a.scale);
    if (how == "tf_half_pixel_for_nn") return centre;
    if (how == "tf_crop_and_resize") return places_in_part(a);
    if (how == "pytorch_half_pixel")
        return ops::where(ops::greater(a.want, one), ops::sub(centre, half), ops::mul(a.count, real(0)));
    if (how == "align_corners") {
        Tensor steps = ops::maximum(ops::sub(a.want, one), one);
        return ops::div(ops::mul(a.count, ops::sub(a.have, one)), steps);
    }
    if (how == "half_pixel_symmetric") {
        // The part of the size removed by rounding is divided between both ends.
        Tensor adjustment = ops::div(a.want, a.length);
        Tensor offset = ops::mul(ops::mul(a.have, half), ops::sub(one, adjustment));
        return ops::add(offset, ops::sub(centre, half));
    }
    unsupported("coordinate_transformation_mode '", how, "'");
}

// `places` are real or i64.
Tensor elements(const Tensor& x, const Axis& a, const Tensor& places) {
    Tensor last = ops::sub(as_dtype(a.have, places.dtype()), number(places, 1));
    Tensor inside = ops::minimum(ops::maximum(places, number(places, 0)), last);
    return ops::take({x, as_index(inside)}, {.axes = {a.axis}});
}

Tensor as_weight(const Tensor& numbers, const Axis& a) { return as_column(numbers, a.trailing); }

// numerator / denominator, i64: halves are exact.
struct Fraction {
    Tensor numerator, denominator;
    Tensor floor() const { return ops::floor_div(numerator, denominator); }
    Tensor ceil() const { return ops::neg(ops::floor_div(ops::neg(numerator), denominator)); }
    // Plus or minus a half.
    Fraction moved(bool up) const {
        Tensor twice = ops::mul(numerator, whole(2));
        return {up ? ops::add(twice, denominator) : ops::sub(twice, denominator),
                ops::mul(denominator, whole(2))};
    }
};

// The same as places() if the scale is the ratio of the sizes. Nullopt: they are not fractions.
std::optional<Fraction> exact_places(const Axis& a, const std::string& how) {
    auto as_whole = [](const Tensor& t) { return as_dtype(t, DType::i64); };
    Tensor have = as_whole(a.have), want = as_whole(a.want), count = as_whole(a.count), one = whole(1);
    if (how == "asymmetric") return Fraction{ops::mul(count, have), want};
    if (how == "align_corners")
        return Fraction{ops::mul(count, ops::sub(have, one)), ops::maximum(ops::sub(want, one), one)};
    Tensor middle = ops::mul(ops::add(ops::mul(count, whole(2)), one), have);
    Tensor twice = ops::mul(want, whole(2)), centre = ops::sub(middle, want);
    if (how == "tf_half_pixel_for_nn") return Fraction{middle, twice};
    if (how == "half_pixel") return Fraction{centre, twice};
    if (how == "pytorch_half_pixel")
        return Fraction{ops::where(ops::greater(want, one), centre, whole(0)), twice};
    return std::nullopt;
}

// Upwards where the image shrinks, as ONNX Runtime has it and the examples of version 10.
Tensor rounded(const Fraction& place, const Axis& a, const std::string& how) {
    if (how == "round_prefer_floor") return place.moved(false).ceil();
    if (how == "round_prefer_ceil") return place.moved(true).floor();
    if (how == "floor") return place.floor();
    if (how == "ceil") return place.ceil();
    return ops::where(ops::less(a.want, a.have), place.ceil(), place.floor());
}
Tensor rounded(const Tensor& place, const Axis& a, const std::string& how) {
    if (how == "round_prefer_floor") return ops::ceil(ops::sub(place, real(0.5)));
    if (how == "round_prefer_ceil") return ops::floor(ops::add(place, real(0.5)));
    if (how == "floor") return ops::floor(place);
    if (how == "ceil") return ops::ceil(place);
    if (how != "simple") unsupported("nearest_mode '", how, "'");
    return ops::where(ops::less(a.scale, real(1)), ops::ceil(place), ops::floor(place));
}

Tensor nearest(const Tensor& x, const Axis& a, const Style& style) {
    Tensor near = rounded(places(a, style.coordinates), a, style.nearest);
    auto exact = exact_places(a, style.coordinates);
    if (!exact) return elements(x, a, near);
    Tensor best = rounded(*exact, a, style.nearest);
    bool is_exact = !a.is_ratio || style.coordinates == "align_corners";
    return elements(x, a, is_exact ? best : ops::where(a.is_ratio, best, as_dtype(near, DType::i64)));
}

Tensor linear(const Tensor& x, const Axis& a, const Style& style) {
    Tensor place = places(a, style.coordinates), low = ops::floor(place);
    Tensor left = elements(x, a, low), right = elements(x, a, ops::add(low, real(1)));
    return ops::add(left, ops::mul(ops::sub(right, left), as_weight(ops::sub(place, low), a)));
}

// Keys' polynomials of the distance.
Tensor weight_below_one(const Tensor& d, double k) {  // ((k + 2) d - (k + 3)) d^2 + 1
    Tensor inner = ops::sub(ops::mul(d, number(d, k + 2)), number(d, k + 3));
    return ops::add(ops::mul(ops::mul(inner, d), d), real(1));
}
Tensor weight_below_two(const Tensor& d, double k) {  // ((k d - 5 k) d + 8 k) d - 4 k
    auto times = [&](double factor) { return number(d, factor * k); };
    Tensor inner = ops::add(ops::mul(ops::sub(ops::mul(d, times(1)), times(5)), d), times(8));
    return ops::sub(ops::mul(inner, d), times(4));
}

// 0 for places outside of the old image.
Tensor without_outside(const Tensor& weight, const Tensor& place, const Axis& a) {
    Tensor is_inside = ops::logical_and(ops::greater_equal(place, real(0)), ops::less(place, a.have));
    return ops::where(is_inside, weight, real(0));
}

Tensor cubic(const Tensor& x, const Axis& a, const Style& style) {
    Tensor centre = places(a, style.coordinates), low = ops::floor(centre), rest = ops::sub(centre, low);
    Tensor sum, total;
    for (int step = -1; step <= 2; ++step) {
        Tensor distance = ops::abs(ops::sub(rest, real(step))), place = ops::add(low, real(step));
        bool is_near = step == 0 || step == 1;
        Tensor weight =
            is_near ? weight_below_one(distance, style.cubic) : weight_below_two(distance, style.cubic);
        if (style.excludes_outside) weight = without_outside(weight, place, a);
        Tensor part = ops::mul(elements(x, a, place), as_weight(weight, a));
        sum = sum ? ops::add(sum, part) : part;
        total = total ? ops::add(total, weight) : weight;
    }
    return style.excludes_outside ? ops::div(sum, as_weight(total, a)) : sum;
}

// A product with a matrix of weights, one row for each new element. The old axis is extended by its first and
// last element as far as a window may reach.
Tensor smoothed(const Tensor& x, const Axis& a, const Style& style) {
    bool is_cubic = style.mode == "cubic";
    Tensor shrink = ops::minimum(a.scale, real(1)), one = real(1);
    Tensor reach = ops::ceil(ops::div(real(is_cubic ? 2 : 1), shrink));
    Tensor taps =
        ops::reshape(as_dtype(ops::add(a.have, ops::mul(reach, real(2))), DType::i64), {.shape = {1}});
    Tensor tap = ops::sub(as_float(count_up(taps, DType::i32)), reach);
    Tensor centre = as_column(places(a, style.coordinates), 1);
    Tensor distance = ops::mul(ops::abs(ops::sub(centre, tap)), shrink), weight;
    if (is_cubic) {
        Tensor far =
            ops::where(ops::less(distance, real(2)), weight_below_two(distance, style.cubic), real(0));
        weight = ops::where(ops::less_equal(distance, one), weight_below_one(distance, style.cubic), far);
    } else {
        weight = ops::maximum(ops::sub(one, distance), real(0));
    }
    if (style.excludes_outside) weight = without_outside(weight, tap, a);
    weight = ops::div(weight, ops::sum(weight, {.axes = {1}, .keepdims = true}));
    IntList swapped = all_axes(a.axis + a.trailing + 1);
    std::swap(swapped[size_t(a.axis)], swapped.back());
    Tensor rows = ops::transpose(elements(x, a, tap), {.pattern = swapped});
    return ops::transpose(ops::matmul(rows, weight, {.transpose_b = true}), {.pattern = swapped});
}

Tensor interpolated(const Tensor& x, const Axis& a, const Style& style) {
    if (style.mode == "nearest") return nearest(x, a, style);
    bool is_linear = style.mode == "linear" || style.mode == "bilinear";
    if (!is_linear && style.mode != "cubic") unsupported("the mode '", style.mode, "'");
    if (style.smooths) return smoothed(x, a, style);
    return is_linear ? linear(x, a, style) : cubic(x, a, style);
}

Tensor resized(const Tensor& x, const Axis& a, const Style& style) {
    Tensor y = interpolated(x, a, style);
    if (style.coordinates != "tf_crop_and_resize") return y;
    Tensor place = places(a, style.coordinates);
    Tensor is_inside = ops::logical_and(ops::greater_equal(place, real(0)),
                                        ops::less_equal(place, ops::sub(a.have, real(1))));
    return ops::where(as_weight(is_inside, a), y, number(y, style.beyond));
}

struct Request {
    IntList axes;
    Tensor scales, sizes;     // one of them, or both where the sizes follow from equal scales
    Tensor part_of_interest;  // beginnings, then ends; null: all
};

// A scale that is not above 0 gives no size.
void check(const Request& request) {
    if (request.sizes) return require_within(request.sizes, 0, beyond, "a size must be at least 0");
    Tensor scales = as_float(request.scales);
    Tensor is_good = ops::logical_and(ops::greater(scales, real(0)), ops::less(scales, real(double(beyond))));
    require_equal(ops::where(is_good, scales, real(1)), scales, "a scale must be above 0");
}

Axis axis_of(const Tensor& x, const Request& request, size_t i, int axis, DType dtype) {
    auto at = int64_t(i);
    Axis a{.axis = axis, .trailing = rank_of(x) - 1 - axis};
    a.have = as_float(as_scalar(ops::shape_of(x, {.axis = axis})));
    Tensor size = request.sizes ? as_dtype(element(request.sizes, 0, at), DType::i64) : Tensor();
    a.scale = request.scales ? as_float(element(request.scales, 0, at)) : ops::div(as_float(size), a.have);
    a.length = request.scales ? ops::mul(a.have, a.scale) : as_float(size);
    a.want = size ? as_float(size) : Tensor(ops::floor(a.length));
    Tensor count = ops::reshape(as_dtype(a.want, DType::i64), {.shape = {1}});
    a.count = as_float(count_up(count, DType::i32));
    if (request.scales) a.is_ratio = ops::equal(a.scale, ops::div(a.want, a.have));
    // The new size follows from f32, as in ONNX Runtime.
    for (Tensor* t : {&a.have, &a.scale, &a.length, &a.want, &a.count}) *t = as_dtype(*t, dtype);
    if (!request.scales) a.scale = ops::div(a.want, a.have);
    if (request.part_of_interest) {
        a.begin = as_float(element(request.part_of_interest, 0, at));
        a.end = as_float(element(request.part_of_interest, 0, at + int64_t(request.axes.size())));
    }
    return a;
}

// Sizes that keep the ratio of the sides: all by the scale of the axis that grows least, or most.
void keep_ratio(const Tensor& x, const std::string& policy, Request& request) {
    if (policy == "stretch") return;
    bool is_larger = policy == "not_smaller";
    if (!is_larger && policy != "not_larger") unsupported("the policy '", policy, "'");
    Tensor index = as_index(vector_of(request.axes));
    Tensor have = as_float(ops::take({extents_of(x, 0, rank_of(x)), index}, {.axes = {0}}));
    Tensor own = ops::div(as_float(request.sizes), have);
    Tensor scale = is_larger ? ops::max(own) : ops::min(own);
    request.scales = ops::mul(scale, as_float(vector_of(IntList(request.axes.size(), 1))));
    request.sizes = as_dtype(ops::floor(ops::add(ops::mul(scale, have), real(0.5))), DType::i64);
}

// An axis that keeps its size is not changed.
bool stays(const Site& site, const Request& request, size_t i, int axis) {
    if (request.part_of_interest) return false;
    auto wanted = request.sizes ? find_value(request.sizes) : Tensor();
    auto extent = find_extent(site.in(0), axis);
    if (request.sizes) return extent && wanted && numbers_in(wanted)[i] == *extent;
    Tensor known = find_value(request.scales);
    return known && known.dtype() == DType::f32 && known.data<float>()[i] == 1;
}

// Polynomials of small integers may leave their range.
Tensor within_range(const Tensor& y, DType dtype) {
    if (size_of(dtype) > 2) return y;
    IntegerRange range = integer_range(dtype);
    return ops::clip(y, {.lower = range.least, .upper = range.most});
}

// For integers, the fraction is dropped at the end; as in ONNX Runtime, sums over windows are rounded along
// each axis, starting with the last.
Tensor in_new_size(const Site& site, const Request& request, const Style& style) {
    check(request);
    const Tensor& x = site.in(0);
    Tensor y = x;
    bool moves_only = style.mode == "nearest";
    bool makes_integers = !moves_only && !is_float(x.dtype()), rounds = makes_integers && style.smooths;
    if (makes_integers && !is_int(x.dtype()))
        unsupported("a resize of ", x.dtype(), " in the mode '", style.mode, "'");
    if (!moves_only) y = as_wide(y);
    const DType dtype = moves_only ? DType::f32 : y.dtype();
    for (size_t i = 0; i < request.axes.size(); ++i) {
        size_t at = rounds ? request.axes.size() - 1 - i : i;
        auto axis = int(request.axes[at]);
        // The shape of y is unknown if one of its sizes is known only at run time.
        if (stays(site, request, at, axis)) continue;
        y = resized(y, axis_of(x, request, at, axis, dtype), style);
        if (rounds) y = within_range(ops::floor(ops::add(y, real(0.5))), x.dtype());
    }
    return as_dtype(makes_integers ? within_range(y, x.dtype()) : y, x.dtype());
}

// Before version 10: scales only, from the corner.
Tensors import_upsample(const Site& site) {
    Style style{.mode = site.attributes.word("mode", "nearest")};
    Request request{all_axes(site.rank(0)), {}, {}, {}};
    if (site.opset < 9) {
        auto scales = site.attributes.numbers("scales");
        if (!scales) invalid("it has no scales");
        std::vector<float> data(scales->begin(), scales->end());
        request.scales = tensor_from_host({DType::f32, {int64_t(data.size())}, {}}, data.data(), host_device);
    } else {
        request.scales = site.in(1);
    }
    return {in_new_size(site, request, style)};
}

Tensors import_resize(const Site& site) {
    Style style{.mode = site.attributes.word("mode", "nearest")};
    Request request{all_axes(site.rank(0)), {}, {}, {}};
    if (site.opset < 11) {
        request.scales = site.in(1);
        return {in_new_size(site, request, style)};
    }
    style.coordinates = site.attributes.word("coordinate_transformation_mode", "half_pixel");
    style.nearest = site.attributes.word("nearest_mode", "round_prefer_floor");
    style.cubic = site.attributes.number("cubic_coeff_a", -0.75);
    style.excludes_outside = site.attributes.integer("exclude_outside", 0);
    style.beyond = site.attributes.number("extrapolation_value", 0);
    style.smooths = site.attributes.integer("antialias", 0);
    if (auto axes = site.attributes.integers("axes")) request.axes = *axes;
    for (int64_t& axis : request.axes) axis = site.axis(axis, site.rank(0));
    if (style.coordinates == "tf_crop_and_resize") request.part_of_interest = site.in(1);
    std::string policy = site.attributes.word("keep_aspect_ratio_policy", "stretch");
    // Before version 13 an empty list of scales means that sizes follow.
    (site.has(3) ? request.sizes : request.scales) = site.in(site.has(3) ? 3 : 2);
    auto count = length_of(site.has(3) ? request.sizes : request.scales, "a list of sizes");
    if (count != int(request.axes.size()))
        invalid("it has ", counted(count, "size"), " for ", counted(request.axes.size(), "axis", "axes"));
    if (site.has(3)) keep_ratio(site.in(0), policy, request);
    return {in_new_size(site, request, style)};
}

}  // namespace

ImportRows resampling_rows() {
    static constexpr ImportRow rows[] = {
        {"Resize", import_resize, 10},
        {"Upsample", import_upsample, 7, 9},
    };
    return rows;
}

}  // namespace mge::onnx
