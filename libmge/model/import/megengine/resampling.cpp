// SPDX-License-Identifier: Apache-2.0
// Images in another size, one axis after the other: which pixels, and how much of each, follows from the
// sizes, and so do the operators that compute it. Other sizes at run time therefore work as well.

#include "libmge/device/device.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/convert.h"
#include "libmge/ops/index/slice.h"
#include "libmge/ops/index/slice_items.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/reduce/cumsum.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/shape_of.h"

namespace mge::megengine {
namespace {

Tensor number(double value) { return scalar_tensor(value, DType::f32); }
Tensor as_float(const Tensor& t) { return convert_dtype(t, DType::f32); }

// One axis of the old and the new image; all tensors are f32.
struct Axis {
    int axis;
    Tensor last;   // index of its last pixel
    Tensor place;  // 0, 1, … of the new pixels
    Tensor ratio;  // new size / old size
};

Axis axis_of(const Tensor& x, int axis, const Tensor& size) {
    Tensor have = as_float(ops::shape_of(x, {.axis = axis})), one = number(1);
    Tensor ones = ops::full(size, {.value = 1, .dtype = DType::i32});
    return {axis, ops::sub(have, one), ops::sub(as_float(ops::cumsum(ones)), one),
            ops::div(as_float(size), have)};
}

Tensor pixels(const Tensor& x, const Axis& a, const Tensor& index) {
    return ops::take({x, convert_dtype(index, DType::i32)}, {.axes = {a.axis}});
}

Tensor nearest(const Tensor& x, const Axis& a) {
    return pixels(x, a, ops::minimum(ops::floor(ops::div(a.place, a.ratio)), a.last));
}

// Pixels are squares; the new one's centre lies between the centres of two old ones.
Tensor linear(const Tensor& x, const Axis& a) {
    Tensor half = number(0.5);
    Tensor centre = ops::sub(ops::div(ops::add(a.place, half), a.ratio), half);
    centre = ops::maximum(centre, number(0));
    Tensor low = ops::minimum(ops::floor(centre), a.last);
    Tensor high = ops::minimum(ops::add(low, number(1)), a.last);
    Tensor weight = ops::sub(centre, low);
    if (a.axis == 2) weight = ops::add_axis(weight, {.axes = {1}});
    Tensor left = pixels(x, a, low), right = pixels(x, a, high);
    return ops::add(left, ops::mul(ops::sub(right, left), weight));
}

}  // namespace

// Inputs: images (N, C, H, W) and the new size, whose numbers may be floats.
Tensors import_resize(const Site& site) {
    enum : uint32_t { nearest_neighbour, bilinear };
    auto& p = site.params<file::Resize>();
    if (p.format()) unsupported("a resize in the format ", p.format());
    if (p.imode() > bilinear) unsupported("interpolation mode ", p.imode());
    Tensor x = site.in(0), size = as_index(site.in(1));
    if (rank_of(x) != 4) invalid("images of rank ", rank_of(x));
    DType dtype = x.dtype();
    if (dtype != DType::f32) x = as_float(x);
    for (int axis : {2, 3}) {
        IntList item{0, axis - 2, axis - 1, ops::absent_bound, 0};
        Axis a = axis_of(x, axis, ops::slice({size}, {.items = item}));
        x = p.imode() == bilinear ? linear(x, a) : nearest(x, a);
    }
    return {dtype == DType::f32 ? x : convert_dtype(x, dtype)};
}

}  // namespace mge::megengine
