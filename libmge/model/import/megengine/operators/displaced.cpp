// SPDX-License-Identifier: Apache-2.0
// Convolutions at displaced pixels: deformable ones, and the correlation of patches of two images.

#include "libmge/device/device.h"
#include "libmge/model/import/megengine/extents.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/nn/pooling/pool2d.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/flip.h"
#include "libmge/ops/shape/pad.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/vision/remap.h"

namespace mge::megengine {
namespace {

void require_float_images(const Tensor& x) {
    if (rank_of(x) != 4) invalid("images of rank ", rank_of(x));
    if (!is_float(x.dtype())) unsupported("images of ", x.dtype());
}

// One coordinate of every pixel under a deformed window, (P, taps, OH, OW): its offset plus the tap's
// position in the window plus the window's position in the image.
Tensor bent(const Tensor& moves, int axis, const Sliding& window, int64_t padding, int64_t tap_repeats,
            int64_t window_repeats) {
    std::vector<float> taps;
    for (int64_t r = 0; r < window_repeats; ++r)
        for (int64_t k = 0; k < window.taps; ++k)
            taps.insert(taps.end(), size_t(tap_repeats), float(k * window.dilation - padding));
    Tensor tap =
        tensor_from_host({DType::f32, {1, int64_t(taps.size()), 1, 1}, {}}, taps.data(), host_device);
    Tensor place = ops::mul(count_up(extent_of(moves, axis)),
                            scalar_tensor(double(window.stride), DType::f32, host_device));
    place = ops::reshape(place, {.shape = axis == 2 ? IntList{1, 1, -1, 1} : IntList{1, 1, 1, -1}});
    return ops::add(ops::add(moves, tap), place);
}

Tensor moves_of(const Tensor& offset, int64_t taps, int64_t i) {
    Tensor pairs =
        ops::reshape(offset, target_shape({-1, taps, 2, extent_of(offset, 2), extent_of(offset, 3)}));
    return ops::slice({pairs}, {.items = {2, i, i, 1, 1}});
}

// x[:, :, top:, left:] of the size that all displacements have in common.
Tensor displaced(const Tensor& x, int64_t top, int64_t left, int64_t reach) {
    auto end = [&](int64_t begin) { return begin == 2 * reach ? ops::absent_bound : begin - 2 * reach; };
    return cut(cut(x, 2, top, end(top)), 3, left, end(left));
}

}  // namespace

// Inputs: images, filter, offsets (N, 2 * P * taps, OH, OW) for P parts of the channels, row first, and
// factors (N, P * taps, OH, OW).
Tensors import_deformable_convolution(const Site& site) {
    auto& p = site.params<file::Convolution>();
    const Tensor &x = site.in(0), &offset = site.in(2), &mask = site.in(3);
    require_float_images(x);
    if (p.format()) unsupported("images in the format ", p.format());
    if (p.mode() > 1 || p.sparse() > 1) unsupported("convolution mode ", p.mode(), ", sparsity ", p.sparse());
    Tensor weight = p.mode() ? ops::flip(site.in(1), {.axes = {-2, -1}}) : site.in(1);
    int rank = p.sparse() ? 5 : 4;
    if (rank_of(weight) != rank || rank_of(offset) != 4 || rank_of(mask) != 4)
        invalid("a weight of shape ", weight.shape(), ", offsets ", offset.shape(), " and factors ",
                mask.shape());
    auto& shape = weight.shape();
    Sliding rows{shape[rank - 2], p.stride_h(), p.dilate_h()},
        columns{shape[rank - 1], p.stride_w(), p.dilate_w()};
    check_window(rows);
    check_window(columns);
    int64_t taps = rows.taps * columns.taps, groups = p.sparse() ? shape[0] : 1, channels = x.shape()[1];
    int64_t parts = mask.shape()[1] / taps, outputs = groups * shape[rank - 4];
    if (parts < 1 || channels % parts || offset.shape()[1] != 2 * parts * taps ||
        channels != groups * shape[rank - 3])
        invalid("offsets ", offset.shape(), " and factors ", mask.shape(), " do not fit images ", x.shape());
    Tensor row = bent(moves_of(offset, taps, 0), 2, rows, p.pad_h(), columns.taps, 1);
    Tensor column = bent(moves_of(offset, taps, 1), 3, columns, p.pad_w(), 1, rows.taps);
    Tensor places =
        ops::concat({ops::add_axis(column, {.axes = {4}}), ops::add_axis(row, {.axes = {4}})}, {.axis = 4});
    places = convert_dtype(ops::flatten(places, {.start = 1, .end = 2}), DType::f32);
    Tensor images = ops::reshape(x, target_shape({-1, channels / parts, extent_of(x, 2), extent_of(x, 3)}));
    Tensor under = ops::remap(images, places, {.border = ops::Border::constant});
    Tensor factors = ops::reshape(mask, target_shape({extent_of(images, 0), 1, -1, extent_of(mask, 3)}));
    Tensor pixels = ops::reshape(ops::mul(under, factors),
                                 target_shape({extent_of(x, 0), groups, channels / groups * taps, -1}));
    Tensor matrix = ops::reshape(weight, {.shape = {1, groups, outputs / groups, -1}});
    return {
        ops::reshape(ops::matmul(matrix, pixels),
                     target_shape({extent_of(x, 0), outputs, extent_of(offset, 2), extent_of(offset, 3)}))};
}

// (N, displacements, OH, OW): mean product, or mean absolute difference, of patches.
Tensors import_correlation(const Site& site) {
    constexpr int64_t most_displacements = 4096, largest = 1 << 20;
    auto& p = site.params<file::Correlation>();
    if (p.format()) unsupported("images in the format ", p.format());
    require_float_images(site.in(0));
    require_float_images(site.in(1));
    int64_t reach = p.max_displacement(), step = p.stride2(), margin = p.pad_size(), size = p.kernel_size();
    if (!step || !size || !p.stride1() || reach > largest || margin > largest || size > largest)
        invalid("displacements up to ", reach, " in steps of ", step, ", patches of ", size);
    size -= 1 - size % 2;  // patches reach equally far to each side
    int64_t around = reach / step;
    if ((2 * around + 1) * (2 * around + 1) > most_displacements)
        unsupported("more than ", most_displacements, " displacements");
    IntList margins{0, 0, margin, margin};
    Tensor first = ops::pad(site.in(0), {.before = margins, .after = margins});
    Tensor second = ops::pad(site.in(1), {.before = margins, .after = margins});
    Tensor here = displaced(first, reach, reach, reach);
    Tensors results;
    for (int64_t i = -around; i <= around; ++i)
        for (int64_t k = -around; k <= around; ++k) {
            Tensor there = displaced(second, reach + i * step, reach + k * step, reach);
            Tensor alike = p.is_multiply() ? ops::mul(here, there) : ops::abs(ops::sub(here, there));
            alike = ops::mean(alike, {.axes = {1}, .keepdims = true});
            results.push_back(
                ops::avg_pool2d(alike, {.kernel = {size, size}, .stride = {p.stride1(), p.stride1()}}));
        }
    return {ops::concat(TensorList(results), {.axis = 1})};
}

}  // namespace mge::megengine
