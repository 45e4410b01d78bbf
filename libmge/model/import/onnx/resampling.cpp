// SPDX-License-Identifier: Apache-2.0
// Images in another size, one axis after the other: which elements, and how much of each, follows from the
// sizes, and so do the operators that compute it. Other sizes at run time therefore work as well.

#include <algorithm>
#include <cmath>

#include "libmge/device/device.h"
#include "libmge/model/import/onnx/families.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/clip.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/convert.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/shape_of.h"

namespace mge::onnx {
namespace {

Tensor real(double value) { return scalar_tensor(value, DType::f32, host_device); }
Tensor as_float(const Tensor& t) { return as_dtype(t, DType::f32); }
Tensor as_scalar(const Tensor& t) { return ops::reshape(t, {.shape = {}}); }

// How an operator of some version resizes.
struct Style {
    std::string mode = "nearest", coordinates = "asymmetric", nearest = "floor";
    double cubic = -0.75;
    bool excludes_outside = false;
};

// One axis of the old and the new image; the tensors are f32, of rank 0 or one number per new element.
struct Axis {
    int axis;
    int trailing;  // axes behind it
    Tensor have, want, scale;
    Tensor count;  // 0, 1, … of the new elements
};

// Where the new elements lie among the old ones.
Tensor places(const Axis& a, const std::string& how) {
    Tensor half = real(0.5), one = real(1);
    Tensor centre = ops::div(ops::add(a.count, half), a.scale);
    if (how == "half_pixel") return ops::sub(centre, half);
    if (how == "asymmetric") return ops::div(a.count, a.scale);
    if (how == "tf_half_pixel_for_nn") return centre;
    if (how == "pytorch_half_pixel")
        return ops::where(ops::greater(a.want, one), ops::sub(centre, half), ops::mul(a.count, real(0)));
    if (how == "align_corners") {
        Tensor steps = ops::maximum(ops::sub(a.want, one), one);
        return ops::div(ops::mul(a.count, ops::sub(a.have, one)), steps);
    }
    if (how == "half_pixel_symmetric") {
        // What rounding the size took off is divided between both ends.
        Tensor adjustment = ops::div(a.want, ops::mul(a.have, a.scale));
        Tensor offset = ops::mul(ops::mul(a.have, half), ops::sub(one, adjustment));
        return ops::add(offset, ops::sub(centre, half));
    }
    unsupported("the places '", how, "'");
}

Tensor elements(const Tensor& x, const Axis& a, const Tensor& places) {
    Tensor inside = ops::minimum(ops::maximum(places, real(0)), ops::sub(a.have, real(1)));
    return ops::take({x, as_index(inside)}, {.axes = {a.axis}});
}

Tensor as_weight(const Tensor& numbers, const Axis& a) { return with_trailing_axes(numbers, a.trailing); }

Tensor nearest(const Tensor& x, const Axis& a, const Style& style) {
    Tensor place = places(a, style.coordinates), half = real(0.5);
    if (style.nearest == "round_prefer_floor") return elements(x, a, ops::ceil(ops::sub(place, half)));
    if (style.nearest == "round_prefer_ceil") return elements(x, a, ops::floor(ops::add(place, half)));
    if (style.nearest == "floor") return elements(x, a, ops::floor(place));
    if (style.nearest == "ceil") return elements(x, a, ops::ceil(place));
    unsupported("the nearest element by '", style.nearest, "'");
}

Tensor linear(const Tensor& x, const Axis& a, const Style& style) {
    Tensor place = places(a, style.coordinates), low = ops::floor(place);
    Tensor left = elements(x, a, low), right = elements(x, a, ops::add(low, real(1)));
    return ops::add(left, ops::mul(ops::sub(right, left), as_weight(ops::sub(place, low), a)));
}

// Keys' polynomials of the distance.
Tensor weight_below_one(const Tensor& d, double k) {  // ((k + 2) d - (k + 3)) d^2 + 1
    Tensor inner = ops::sub(ops::mul(d, real(k + 2)), real(k + 3));
    return ops::add(ops::mul(ops::mul(inner, d), d), real(1));
}
Tensor weight_below_two(const Tensor& d, double k) {  // ((k d - 5 k) d + 8 k) d - 4 k
    Tensor inner = ops::add(ops::mul(ops::sub(ops::mul(d, real(k)), real(5 * k)), d), real(8 * k));
    return ops::sub(ops::mul(inner, d), real(4 * k));
}

Tensor cubic(const Tensor& x, const Axis& a, const Style& style) {
    Tensor centre = places(a, style.coordinates), low = ops::floor(centre), rest = ops::sub(centre, low);
    Tensor sum, total;
    for (int step = -1; step <= 2; ++step) {
        Tensor distance = ops::abs(ops::sub(rest, real(step))), place = ops::add(low, real(step));
        bool is_near = step == 0 || step == 1;
        Tensor weight =
            is_near ? weight_below_one(distance, style.cubic) : weight_below_two(distance, style.cubic);
        if (style.excludes_outside) {
            weight = ops::where(ops::less(place, real(0)), real(0), weight);
            weight = ops::where(ops::less(place, a.have), weight, real(0));
        }
        Tensor part = ops::mul(elements(x, a, place), as_weight(weight, a));
        sum = sum ? ops::add(sum, part) : part;
        total = total ? ops::add(total, weight) : weight;
    }
    return style.excludes_outside ? ops::div(sum, as_weight(total, a)) : sum;
}

Tensor resized(const Tensor& x, const Axis& a, const Style& style) {
    if (style.mode == "nearest") return nearest(x, a, style);
    if (style.mode == "linear" || style.mode == "bilinear") return linear(x, a, style);
    if (style.mode == "cubic") return cubic(x, a, style);
    unsupported("the mode '", style.mode, "'");
}

// The scale is given and the size follows.
Axis scaled_axis(const Tensor& x, int axis, int trailing, const Tensor& scale) {
    Axis a{axis, trailing, as_float(as_scalar(ops::shape_of(x, {.axis = axis}))), {}, scale, {}};
    a.want = ops::floor(ops::mul(a.have, a.scale));
    a.count = as_float(count_up(ops::reshape(as_dtype(a.want, DType::i64), {.shape = {1}}), DType::i32));
    return a;
}

// The size is given and the scale follows.
Axis sized_axis(const Tensor& x, int axis, int trailing, const Tensor& size) {
    Axis a{axis, trailing, as_float(as_scalar(ops::shape_of(x, {.axis = axis}))), {}, {}, {}};
    a.want = as_float(as_scalar(size));
    a.scale = ops::div(a.want, a.have);
    a.count = as_float(count_up(ops::reshape(as_dtype(size, DType::i64), {.shape = {1}}), DType::i32));
    return a;
}

// Sizes that keep the ratio of the sides: all by the scale of the axis that grows least, or most.
Tensor with_ratio(const Site& site, const Tensor& sizes, const IntList& axes, const std::string& policy) {
    if (policy == "stretch") return sizes;
    auto wanted = site.values(3, "sizes");
    bool is_larger = policy == "not_smaller";
    if (!is_larger && policy != "not_larger") unsupported("the policy '", policy, "'");
    double scale = is_larger ? 0 : INFINITY;
    IntList extents;
    for (size_t i = 0; i < axes.size(); ++i) {
        auto extent = site.extents.find_extent(site.in(0), int(axes[i]));
        if (!extent) unsupported("a ratio of extents that differ between runs");
        extents.push_back(*extent);
        double own = double(wanted[i]) / double(*extent);
        scale = is_larger ? std::max(scale, own) : std::min(scale, own);
    }
    for (int64_t& extent : extents) extent = int64_t(std::floor(scale * double(extent) + 0.5));
    return vector_of(extents);
}

struct Request {
    IntList axes;
    Tensor scales, sizes;  // one of them
};

Tensor in_new_size(const Site& site, const Request& request, const Style& style) {
    Tensor x = site.in(0);
    DType dtype = x.dtype();
    // What a size that only a run can tell makes of x has no known rank any more.
    int rank = rank_of(x);
    bool moves_only = style.mode == "nearest";
    if (!moves_only && !is_float(dtype))
        unsupported("a resize of ", dtype, " in the mode '", style.mode, "'");
    if (!moves_only) x = as_float(x);
    Tensor known = request.scales ? site.extents.find_value(request.scales) : Tensor();
    for (size_t i = 0; i < request.axes.size(); ++i) {
        int axis = site.axis(request.axes[i], rank), trailing = rank - 1 - axis;
        // What keeps its size stays as it is.
        if (known && known.dtype() == DType::f32 && known.data<float>()[i] == 1) continue;
        Tensor size = request.sizes ? cut(request.sizes, 0, int64_t(i), int64_t(i) + 1) : Tensor();
        Axis a = size ? sized_axis(x, axis, trailing, size)
                      : scaled_axis(x, axis, trailing, as_float(element(request.scales, 0, int64_t(i))));
        if (size) {
            auto extent = site.extents.find_extent(x, axis);
            auto wanted = site.extents.find_value(request.sizes);
            if (extent && wanted && numbers_in(wanted)[i] == *extent) continue;
        }
        x = resized(x, a, style);
    }
    return as_dtype(x, dtype);
}

// Elements under a window that grows with the scale; enlarging needs none.
void refuse_smoothing(const Site& site) {
    if (site.attributes.integer("antialias", 0)) unsupported("the attribute 'antialias'");
}

}  // namespace

// Before version 10: scales only, from the corner.
Tensors import_upsample(const Site& site) {
    Style style{.mode = site.attributes.word("mode", "nearest")};
    Request request{all_axes(site.rank(0)), {}, {}};
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
    Request request{all_axes(site.rank(0)), {}, {}};
    if (site.opset < 11) {
        request.scales = site.in(1);
        return {in_new_size(site, request, style)};
    }
    style.coordinates = site.attributes.word("coordinate_transformation_mode", "half_pixel");
    style.nearest = site.attributes.word("nearest_mode", "round_prefer_floor");
    style.cubic = site.attributes.number("cubic_coeff_a", -0.75);
    style.excludes_outside = site.attributes.integer("exclude_outside", 0);
    site.attributes.number("extrapolation_value", 0);
    refuse_smoothing(site);
    if (auto axes = site.attributes.integers("axes")) request.axes = *axes;
    for (int64_t& axis : request.axes) axis = site.axis(axis, site.rank(0));
    std::string policy = site.attributes.word("keep_aspect_ratio_policy", "stretch");
    // Before version 13 an empty list of scales says that sizes follow.
    if (site.has(3))
        request.sizes = with_ratio(site, site.in(3), request.axes, policy);
    else
        request.scales = site.in(2);
    return {in_new_size(site, request, style)};
}

}  // namespace mge::onnx
