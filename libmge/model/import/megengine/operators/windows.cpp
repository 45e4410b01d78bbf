// SPDX-License-Identifier: Apache-2.0
// Operators with a sliding window over images: extracting windows, adding them back, and convolutions whose
// weight or window differs at every position.

#include "libmge/device/device.h"
#include "libmge/model/import/megengine/extents.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/op/apply.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/nn/pooling/pool2d.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/broadcast.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/flip.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/pad.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/vision/remap.h"

namespace mge::megengine {
namespace {

constexpr int64_t most_taps = 1024;  // limit for a window; each tap becomes operators

struct ImageWindow {
    Sliding rows, columns;
    int64_t row_padding = 0, column_padding = 0;
    int64_t taps() const { return rows.taps * columns.taps; }
};

template <class P>
ImageWindow window_of(const P& p, int64_t height, int64_t width) {
    ImageWindow window{
        {height, p.stride_h(), p.dilate_h()}, {width, p.stride_w(), p.dilate_w()}, p.pad_h(), p.pad_w()};
    check_window(window.rows);
    check_window(window.columns);
    if (window.taps() > most_taps) unsupported("a window of ", height, " x ", width, " taps");
    return window;
}

void require_images(const Tensor& x) {
    if (rank_of(x) != 4) invalid("images of rank ", rank_of(x));
}

Tensor padded(const Tensor& x, const ImageWindow& w) {
    if (!w.row_padding && !w.column_padding) return x;
    IntList margins{0, 0, w.row_padding, w.column_padding};
    return ops::pad(x, {.before = margins, .after = margins});
}

// (N, C, taps, OH, OW)
Tensor under_window(const Tensor& x, const ImageWindow& w) {
    Tensor wide = padded(x, w);
    Tensors taps;
    for (int64_t i = 0; i < w.rows.taps; ++i) {
        Tensor rows = under_tap(wide, 2, w.rows, i);
        for (int64_t k = 0; k < w.columns.taps; ++k)
            taps.push_back(ops::add_axis(under_tap(rows, 3, w.columns, k), {.axes = {2}}));
    }
    return ops::concat(TensorList(taps), {.axis = 2});
}

void require_dense_images(const Tensor& x, const file::Convolution& p) {
    require_images(x);
    if (!is_float(x.dtype())) unsupported("a convolution of ", x.dtype());
    if (p.format()) unsupported("images in the format ", p.format());
}

// For true convolution, which mirrors the window; `axis` is that of its height.
Tensor filter(const Tensor& weight, uint32_t mode, int axis) {
    enum : uint32_t { cross_correlation, convolution };
    if (mode > convolution) unsupported("convolution mode ", mode);
    return mode == convolution ? ops::flip(weight, {.axes = {axis, axis + 1}}) : weight;
}

}  // namespace

// Images (N, C, H, W) to (N, C, OH, OW, KH, KW).
Tensors import_images_to_neighbours(const Site& site) {
    auto& p = site.params<file::Images2Neibs>();
    require_images(site.in(0));
    ImageWindow window = window_of(p, p.window_h(), p.window_w());
    Tensor y = ops::transpose(under_window(site.in(0), window), {.pattern = {0, 1, 3, 4, 2}});
    return {ops::reshape(y, target_shape({extent_of(y, 0), extent_of(y, 1), extent_of(y, 2), extent_of(y, 3),
                                          window.rows.taps, window.columns.taps}))};
}

// The inverse: windows (N, C, OH, OW, KH, KW) are added up at their positions.
Tensors import_sliding_window_transpose(const Site& site) {
    auto& p = site.params<file::SlidingWindowTranspose>();
    const Tensor& x = site.in(0);
    if (rank_of(x) != 6) invalid("windows of rank ", rank_of(x));
    ImageWindow w = window_of(p, p.window_h(), p.window_w());
    if (x.shape()[4] != w.rows.taps || x.shape()[5] != w.columns.taps)
        invalid("windows of shape ", x.shape(), " for ", w.rows.taps, " x ", w.columns.taps, " taps");
    int64_t height = p.out_h() + 2 * w.row_padding, width = p.out_w() + 2 * w.column_padding;
    Tensor sum =
        ops::full(target_shape({extent_of(x, 0), extent_of(x, 1), height, width}), {.dtype = x.dtype()});
    auto bounds = [](const Sliding& s, int64_t tap, int64_t places) {
        int64_t begin = tap * s.dilation;
        return std::pair{begin, begin + s.stride * (places - 1) + 1};
    };
    // A pixel is the sum of its windows in their order, the first of which has it at its last place.
    for (int64_t i = w.rows.taps - 1; i >= 0; --i)
        for (int64_t k = w.columns.taps - 1; k >= 0; --k) {
            auto [top, bottom] = bounds(w.rows, i, x.shape()[2]);
            auto [left, right] = bounds(w.columns, k, x.shape()[3]);
            Tensor tap = ops::slice({x}, {.items = {4, i, i, 1, 1, 5, k, k, 1, 1}});
            sum = ops::add_slice({sum, tap}, {.items = {2, top, bottom, w.rows.stride, 0, 3, left, right,
                                                        w.columns.stride, 0}});
        }
    Tensor rows = cut(sum, 2, w.row_padding, w.row_padding + p.out_h());
    return {cut(rows, 3, w.column_padding, w.column_padding + p.out_w())};
}

// A weight for every place: (OH, OW, IC, KH, KW, OC), with groups (G, OH, OW, IC/G, KH, KW, OC/G).
Tensors import_local(const Site& site) {
    auto& p = site.params<file::Convolution>();
    const Tensor& x = site.in(0);
    require_dense_images(x, p);
    Tensor weight = rank_of(site.in(1)) == 6 ? ops::add_axis(site.in(1), {.axes = {0}}) : site.in(1);
    if (rank_of(weight) != 7) invalid("a weight of shape ", site.in(1).shape());
    auto& shape = weight.shape();
    int64_t groups = shape[0], height = shape[1], width = shape[2], inputs = shape[3], outputs = shape[6];
    ImageWindow window = window_of(p, shape[4], shape[5]);
    if (x.shape()[1] != groups * inputs)
        invalid("a weight of shape ", shape, " for images of shape ", x.shape());
    weight = filter(weight, p.mode(), 4);
    // (N, G, depth, places) to (G, places, N, depth); the weight is (G, places, depth, OC/G).
    int64_t depth = inputs * window.taps(), places = height * width;
    Tensor pixels =
        ops::reshape(under_window(x, window), target_shape({extent_of(x, 0), groups, depth, places}));
    pixels = ops::transpose(pixels, {.pattern = {1, 3, 0, 2}});
    Tensor y = ops::matmul(pixels, ops::reshape(weight, {.shape = {groups, places, depth, outputs}}));
    y = ops::transpose(y, {.pattern = {2, 0, 3, 1}});
    return {ops::reshape(y, target_shape({extent_of(x, 0), groups * outputs, height, width}))};
}

}  // namespace mge::megengine
