// SPDX-License-Identifier: Apache-2.0
// Pooling and other operators on neighbouring pixels.

#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/model/import/megengine/extents.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/model/import/megengine/operators/blocked.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/nn/pooling/adaptive_pool2d.h"
#include "libmge/ops/nn/pooling/pool2d.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/pad.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/shape_of.h"

namespace mge::megengine {
namespace {

enum PoolingMode : uint32_t { max, average, average_without_padding };
// A window that no real network has; each of its positions becomes an operator.
constexpr uint32_t widest_window = 64;

template <class P>
int64_t block_of(const P& p) {
    auto block = block_of_format(p.format());
    if (!block) unsupported("the format ", p.format());
    return *block;
}

// Bytes are pooled as floats; their mean is rounded to the nearest.
template <class Pool>
Tensor pooled_as_float(const Tensor& x, const Pool& pool) {
    if (is_float(x.dtype())) return pool(x);
    if (x.dtype() != DType::i8) unsupported("pooling of ", x.dtype());
    return convert_dtype(ops::round(pool(convert_dtype(x, DType::f32))), DType::i8);
}

Tensor pooled(const Tensor& x, const file::Pooling& p) {
    ops::Pair kernel{p.window_h(), p.window_w()}, stride{p.stride_h(), p.stride_w()};
    ops::Pair padding{p.pad_h(), p.pad_w()};
    if (p.mode() == max) return ops::max_pool2d(x, {.kernel = kernel, .stride = stride, .padding = padding});
    if (p.mode() > average_without_padding) unsupported("pooling mode ", p.mode());
    return ops::avg_pool2d(
        x,
        {.kernel = kernel, .stride = stride, .padding = padding, .count_include_pad = p.mode() == average});
}

// Along one axis, in windows of one length whose positions follow from the size of the result.
Tensor pooled_to_size(const Tensor& x, int axis, const Tensor& size, bool is_max) {
    Tensor one = scalar_tensor(1, DType::i32, host_device), have = ops::shape_of(x, {.axis = axis});
    Tensor step = ops::floor_div(have, size), taps = ops::sub(have, ops::mul(ops::sub(size, one), step));
    Tensor first = ops::mul(count_up(size), convert_dtype(step, DType::f32));
    Tensor index = ops::add(ops::reshape(first, {.shape = {-1, 1}}), count_up(taps));
    Tensor windows = ops::take({x, convert_dtype(index, DType::i32)}, {.axes = {axis}});
    ops::ReduceParams over_taps{{axis + 1}, false};
    return is_max ? ops::max(windows, over_taps) : ops::mean(windows, over_taps);
}

// The size of the result where the file computes it.
Tensor adaptively_pooled(const Tensor& x, const Tensor& size, bool is_max) {
    Tensor rows = pooled_to_size(x, 2, cut(size, 0, 0, 1), is_max);
    return pooled_to_size(rows, 3, cut(size, 0, 1, 2), is_max);
}

Tensor adaptively_pooled(const Tensor& x, const IntList& size, bool is_max) {
    if (is_max) return ops::adaptive_max_pool2d(x, {.height = size[0], .width = size[1]});
    return ops::adaptive_avg_pool2d(x, {.height = size[0], .width = size[1]});
}

}  // namespace

Tensors import_pooling(const Site& site) {
    auto& p = site.params<file::Pooling>();
    int64_t block = block_of(p);
    return {pooled_as_float(site.in(0), [&](const Tensor& x) {
        return block == 1 ? pooled(x, p) : blocked(pooled(unblocked(x, block), p), block);
    })};
}

Tensors import_adaptive_pooling(const Site& site) {
    auto& p = site.params<file::AdaptivePooling>();
    int64_t block = block_of(p);
    Tensor size = as_index(site.in(1));
    if (!(size.shape() == Shape{2})) invalid("a size of shape ", size.shape());
    if (p.mode() > average_without_padding) unsupported("pooling mode ", p.mode());
    auto pool = [&](const Tensor& x) {
        if (rank_of(x) != 4) invalid("images of rank ", rank_of(x));
        if (!as_constant(size)) return adaptively_pooled(x, size, p.mode() == max);
        return adaptively_pooled(x, constant_values(size, "a size"), p.mode() == max);
    };
    return {pooled_as_float(site.in(0), [&](const Tensor& x) {
        return block == 1 ? pool(x) : blocked(pool(unblocked(x, block)), block);
    })};
}

// x / (k + alpha * sum of x^2 over n neighbouring channels) ^ beta
Tensors import_local_response_norm(const Site& site) {
    auto& p = site.params<file::LRN>();
    const Tensor& x = site.in(0);
    if (rank_of(x) != 4) invalid("images of rank ", rank_of(x));
    if (p.n() % 2 == 0 || p.n() > widest_window) unsupported("a window of ", counted(p.n(), "channel"));
    int64_t half = p.n() / 2, channels = x.shape()[1];
    Tensor squares = ops::pad(ops::square(x), {.before = {0, half, 0, 0}, .after = {0, half, 0, 0}}), sum;
    for (int64_t i = 0; i < p.n(); ++i) {
        Tensor moved = ops::slice({squares}, {.items = {1, i, i + channels, ops::absent_bound, 0}});
        sum = sum ? ops::add(sum, moved) : moved;
    }
    auto number = [&](double value) { return scalar_tensor(value, x.dtype(), host_device); };
    Tensor scale = ops::add(ops::mul(sum, number(p.alpha())), number(p.k()));
    return {ops::mul(x, ops::pow(scale, number(-p.beta())))};
}

}  // namespace mge::megengine
