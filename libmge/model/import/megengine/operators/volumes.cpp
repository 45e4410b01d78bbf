// SPDX-License-Identifier: Apache-2.0
// Convolutions of volumes as convolutions of images: the slices below the window's depth become channels, and
// each position along the depth of the result a separate image.

#include "libmge/device/device.h"
#include "libmge/model/import/megengine/extents.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/op/apply.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/flip.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/pad.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::megengine {
namespace {

struct VolumeWindow {
    Sliding depth;
    int64_t depth_padding = 0;
    ops::Pair stride, padding, dilation;  // those of the images
    int64_t groups = 1;
};

// The weight is (OC, IC, KD, KH, KW), with groups (G, OC/G, IC/G, KD, KH, KW).
VolumeWindow window_of(const file::Convolution3D& p, const Tensor& weight) {
    enum : uint32_t { dense, group };
    if (p.format()) unsupported("volumes in the format ", p.format());
    if (p.sparse() > group) unsupported("sparsity ", p.sparse());
    int rank = p.sparse() == group ? 6 : 5;
    if (rank_of(weight) != rank) invalid("a weight of shape ", weight.shape(), ", expected rank ", rank);
    VolumeWindow window{{weight.shape()[rank - 3], p.stride_d(), p.dilate_d()},
                        p.pad_d(),
                        {p.stride_h(), p.stride_w()},
                        {p.pad_h(), p.pad_w()},
                        {p.dilate_h(), p.dilate_w()},
                        rank == 6 ? weight.shape()[0] : 1};
    check_window(window.depth);
    return window;
}

// True convolution mirrors the window; the depth of the window joins the channels of the input.
Tensor image_weight(const Site& site, const Tensor& weight, uint32_t mode) {
    enum : uint32_t { cross_correlation, convolution };
    if (mode > convolution) unsupported("convolution mode ", mode);
    if (as_constant(weight)) site.charge(weight);
    // A constant is rearranged once, here.
    InterpreterScope scope(as_constant(weight) ? eager_interpreter() : current_interpreter());
    Tensor plain = mode == convolution ? ops::flip(weight, {.axes = {-3, -2, -1}}) : weight;
    int rank = rank_of(weight);
    return ops::flatten(plain, {.start = rank - 4, .end = rank - 3});
}

void require_volumes(const Tensor& x) {
    if (rank_of(x) != 5) invalid("volumes of shape ", x.shape(), ", expected rank 5");
    if (!is_float(x.dtype())) unsupported("volumes of ", x.dtype());
}

// (N, C, D, H, W) to (N * D, C, H, W), and back.
Tensor as_images(const Tensor& volumes) {
    return ops::flatten(ops::transpose(volumes, {.pattern = {0, 2, 1, 3, 4}}), {.start = 0, .end = 1});
}
Tensor as_volumes(const Tensor& images, const Extent& count, int64_t channels) {
    Tensor target = target_shape({count, -1, channels, extent_of(images, 2), extent_of(images, 3)});
    return ops::transpose(ops::reshape(images, target), {.pattern = {0, 2, 1, 3, 4}});
}

Tensor plus(const Tensor& x, int64_t n) {
    return ops::add(x, scalar_tensor(double(n), DType::i32, host_device));
}
Tensor times(const Tensor& x, int64_t n) {
    return ops::mul(x, scalar_tensor(double(n), DType::i32, host_device));
}

IntList depth_margins(int64_t margin) { return {0, 0, margin, 0, 0}; }

}  // namespace

Tensors import_convolution3d(const Site& site) {
    auto& p = site.params<file::Convolution3D>();
    const Tensor &x = site.in(0), &weight = site.in(1);
    require_volumes(x);
    VolumeWindow window = window_of(p, weight);
    IntList margins = depth_margins(window.depth_padding);
    Tensor wide = window.depth_padding ? ops::pad(x, {.before = margins, .after = margins}) : x;
    Tensors taps;
    for (int64_t k = 0; k < window.depth.taps; ++k)
        taps.push_back(ops::add_axis(under_tap(wide, 2, window.depth, k), {.axes = {2}}));
    // (N, IC, KD, OD, H, W) to (N, IC * KD, OD, H, W)
    Tensor stacked = ops::flatten(ops::concat(TensorList(taps), {.axis = 2}), {.start = 1, .end = 2});
    Tensor y = ops::conv2d(as_images(stacked), image_weight(site, weight, p.mode()),
                           {.stride = window.stride,
                            .padding = window.padding,
                            .dilation = window.dilation,
                            .groups = window.groups});
    return {as_volumes(y, extent_of(x, 0), y.shape()[1])};
}

// Inputs: filter, dy and, if the size of the result is ambiguous, a value of its shape. Each tap of the
// window's depth adds its images at its position.
Tensors import_deconvolution3d(const Site& site) {
    auto& p = site.params<file::Convolution3D>();
    const Tensor &weight = site.in(0), &dy = site.in(1);
    require_volumes(dy);
    VolumeWindow window = window_of(p, weight);
    auto& depth = window.depth;
    int64_t channels = window.groups * weight.shape()[rank_of(weight) - 4];
    ops::Conv2dBackwardData::Params params{.stride = window.stride,
                                           .padding = window.padding,
                                           .dilation = window.dilation,
                                           .groups = window.groups};
    Tensor images = as_images(dy), like, size;
    if (site.size() > 2) {
        const Tensor& volumes = site.in(2);
        require_volumes(volumes);
        like = ops::full(target_shape({extent_of(images, 0), channels * depth.taps, extent_of(volumes, 3),
                                       extent_of(volumes, 4)}),
                         {.dtype = dy.dtype()});
        size = plus(as_tensor(extent_of(volumes, 2)), 2 * window.depth_padding);
    } else {
        Tensor steps = times(plus(as_tensor(extent_of(dy, 2)), -1), depth.stride);
        size = plus(steps, depth.dilation * (depth.taps - 1) + 1);
    }
    Tensor dx = ops::conv2d_backward_data(image_weight(site, weight, p.mode()), images, like, params);
    Tensor taps = as_volumes(dx, extent_of(dy, 0), channels * depth.taps);
    Tensor sum =
        ops::full(target_shape({extent_of(dy, 0), channels, size, extent_of(taps, 3), extent_of(taps, 4)}),
                  {.dtype = dy.dtype()});
    for (int64_t k = 0; k < depth.taps; ++k) {
        Tensor part = ops::slice({taps}, {.items = {1, k, ops::absent_bound, depth.taps, 0}});
        auto [begin, end] = bounds_of_tap(depth, k);
        sum = ops::add_slice({sum, part}, {.items = {2, begin, end, depth.stride, 0}});
    }
    return {window.depth_padding ? cut(sum, 2, window.depth_padding, -window.depth_padding) : sum};
}

}  // namespace mge::megengine
