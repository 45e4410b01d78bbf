// SPDX-License-Identifier: Apache-2.0
// Images in another size, one axis after the other: which pixels, and how much of each, follows from the
// sizes, and so do the operators that compute it. Other sizes at run time therefore work as well.

#include "libmge/device/device.h"
#include "libmge/model/import/megengine/extents.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/model/import/megengine/numbers.h"
#include "libmge/model/import/megengine/operators/blocked.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/clip.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/shape_of.h"

namespace mge::megengine {
namespace {

Tensor as_float(const Tensor& t) { return convert_dtype(t, DType::f32); }

// One axis of the old and the new image; all tensors are f32.
struct Axis {
    int axis;
    Tensor last;   // index of its last pixel
    Tensor place;  // 0, 1, … of the new pixels
    Tensor ratio;  // new size / old size
    Tensor steps;  // from the first new pixel to the last, at least 1
    int trailing;  // axes behind it
};

Axis axis_of(const Tensor& x, int axis, const Tensor& size) {
    Tensor have = as_float(ops::shape_of(x, {.axis = axis})), want = as_float(size), one = number(1);
    return {axis,
            ops::sub(have, one),
            count_up(size),
            ops::div(want, have),
            ops::maximum(ops::sub(want, one), one),
            rank_of(x) - 1 - axis};
}

Tensor pixels(const Tensor& x, const Axis& a, const Tensor& index) {
    return ops::take({x, convert_dtype(index, DType::i32)}, {.axes = {a.axis}});
}

// One number per new pixel, as a factor of images.
Tensor as_weight(const Tensor& numbers, const Axis& a) {
    IntList trailing;
    for (int i = 0; i < a.trailing; ++i) trailing.push_back(i + 1);
    return trailing.empty() ? numbers : ops::add_axis(numbers, {.axes = trailing});
}

Tensor nearest(const Tensor& x, const Axis& a) {
    return pixels(x, a, ops::minimum(ops::floor(ops::div(a.place, a.ratio)), a.last));
}

// Pixels are squares; the centre of the new one is between the centres of two old ones.
Tensor centre_of(const Axis& a) {
    Tensor half = number(0.5);
    return ops::sub(ops::div(ops::add(a.place, half), a.ratio), half);
}

// The centres of the corner pixels stay where they are.
Tensor aligned_centre_of(const Axis& a) { return ops::div(ops::mul(a.place, a.last), a.steps); }

Tensor linear(const Tensor& x, const Axis& a, const Tensor& place) {
    Tensor centre = ops::maximum(place, number(0));
    Tensor low = ops::minimum(ops::floor(centre), a.last);
    Tensor high = ops::minimum(ops::add(low, number(1)), a.last);
    Tensor left = pixels(x, a, low), right = pixels(x, a, high);
    return ops::add(left, ops::mul(ops::sub(right, left), as_weight(ops::sub(centre, low), a)));
}

// Keys' polynomials of the distance, with his parameter as OpenCV and others choose it.
constexpr double keys = -0.75;
Tensor weight_below_one(const Tensor& d) {  // ((k + 2) d - (k + 3)) d^2 + 1
    Tensor inner = ops::sub(ops::mul(d, number(keys + 2)), number(keys + 3));
    return ops::add(ops::mul(ops::mul(inner, d), d), number(1));
}
Tensor weight_below_two(const Tensor& d) {  // ((k d - 5 k) d + 8 k) d - 4 k
    Tensor inner =
        ops::add(ops::mul(ops::sub(ops::mul(d, number(keys)), number(5 * keys)), d), number(8 * keys));
    return ops::sub(ops::mul(inner, d), number(4 * keys));
}

Tensor cubic(const Tensor& x, const Axis& a) {
    Tensor centre = centre_of(a), low = ops::floor(centre), rest = ops::sub(centre, low), sum;
    for (int step = -1; step <= 2; ++step) {
        Tensor distance = ops::abs(ops::sub(rest, number(step)));
        Tensor weight = step == 0 || step == 1 ? weight_below_one(distance) : weight_below_two(distance);
        Tensor place = ops::maximum(ops::minimum(ops::add(low, number(step)), a.last), number(0));
        Tensor part = ops::mul(pixels(x, a, place), as_weight(weight, a));
        sum = sum ? ops::add(sum, part) : part;
    }
    return sum;
}

enum Interpolation : uint32_t { nearest_neighbour, bilinear, bicubic = 3 };

// Integers are resized as floats. Values of a cubic polynomial beyond their range saturate if unsigned, and
// wrap around if signed.
Tensor in_dtype(const Tensor& y, DType dtype) {
    if (dtype == DType::f32) return y;
    if (is_float(dtype)) return convert_dtype(y, dtype);
    Tensor whole = ops::round(y);
    return convert_dtype(dtype == DType::u8 ? ops::clip(whole, {.lower = 0, .upper = 255}) : whole, dtype);
}

}  // namespace

// Inputs: images and the new size, whose numbers may be floats.
Tensors import_resize(const Site& site) {
    enum : uint32_t { nhwc = 1 };
    auto& p = site.params<file::Resize>();
    auto block = p.format() == nhwc ? 1 : block_of_format(p.format());
    if (!block) unsupported("a resize in the format ", p.format());
    uint32_t mode = p.imode();
    if (mode > bilinear && mode != bicubic) unsupported("interpolation mode ", mode);
    Tensor x = *block == 1 ? site.in(0) : unblocked(site.in(0), *block), size = as_index(site.in(1));
    if (rank_of(x) != 4) invalid("images of rank ", rank_of(x));
    DType dtype = x.dtype();
    if (!is_float(dtype) && dtype != DType::u8 && dtype != DType::i8) unsupported("a resize of ", dtype);
    if (dtype != DType::f32) x = as_float(x);
    int first = p.format() == nhwc ? 1 : 2;
    for (int i = 0; i < 2; ++i) {
        Axis a = axis_of(x, first + i, cut(size, 0, i, i + 1));
        x = mode == bilinear ? linear(x, a, centre_of(a)) : mode == bicubic ? cubic(x, a) : nearest(x, a);
    }
    return {in_dtype(*block == 1 ? x : blocked(x, *block), dtype)};
}

// Inputs: volumes (N, C, D, H, W) and the new size.
Tensors import_resize3d(const Site& site) {
    auto& p = site.params<file::Resize3D>();
    if (p.format()) unsupported("a resize in the format ", p.format());
    if (p.imode() != bilinear) unsupported("interpolation mode ", p.imode());
    Tensor x = site.in(0), size = as_index(site.in(1));
    if (rank_of(x) != 5) invalid("volumes of rank ", rank_of(x));
    DType dtype = x.dtype();
    if (!is_float(dtype)) unsupported("a resize of ", dtype);
    if (dtype != DType::f32) x = as_float(x);
    for (int i = 0; i < 3; ++i) {
        Axis a = axis_of(x, 2 + i, cut(size, 0, i, i + 1));
        x = linear(x, a, p.align_corners() ? aligned_centre_of(a) : centre_of(a));
    }
    return {dtype == DType::f32 ? x : convert_dtype(x, dtype)};
}

}  // namespace mge::megengine
