// SPDX-License-Identifier: Apache-2.0
// Images seen through a grid of places, which are -1 at one end of an axis and 1 at the other.

#include "libmge/device/device.h"
#include "libmge/model/import/onnx/families.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"

#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/shape_of.h"
#include "libmge/ops/vision/remap.h"

namespace mge::onnx {
namespace {

Tensor real(double value) { return scalar_tensor(value, DType::f32, host_device); }

// The ends are the centres of the outermost pixels, or their outer edges.
Tensor in_pixels(const Tensor& place, const Tensor& x, int axis, bool aligns_corners) {
    Tensor extent = as_dtype(ops::shape_of(x, {.axis = axis}), DType::f32);
    Tensor half = ops::mul(ops::add(place, real(1)), real(0.5));
    if (aligns_corners) return ops::mul(half, ops::sub(extent, real(1)));
    return ops::sub(ops::mul(half, extent), real(0.5));
}

}  // namespace

Tensors import_grid_sample(const Site& site) {
    const Tensor &x = site.in(0), &grid = site.in(1);
    std::string mode = site.attributes.word("mode", "linear");
    std::string border = site.attributes.word("padding_mode", "zeros");
    bool aligns_corners = site.attributes.integer("align_corners", 0);
    if (rank_of(x) != 4 || rank_of(grid) != 4) unsupported("a grid of rank ", rank_of(grid));
    if (x.dtype() != DType::f32) unsupported("a grid over images of ", x.dtype());
    if (mode != "linear" && mode != "bilinear") unsupported("the mode '", mode, "'");
    if (border != "zeros" && border != "border") unsupported("the border '", border, "'");
    auto along = [&](int64_t i, int axis) {
        return in_pixels(cut(grid, 3, i, i + 1), x, axis, aligns_corners);
    };
    Tensor map = ops::concat({along(0, 3), along(1, 2)}, {.axis = 3});
    auto outside = border == "zeros" ? ops::Border::constant : ops::Border::replicate;
    return {ops::remap(x, map, Tensor(), {.border = outside})};
}

}  // namespace mge::onnx
