// SPDX-License-Identifier: Apache-2.0
// Pooling and what else looks at neighbours in images.

#include "libmge/device/device.h"
#include "libmge/model/import/megengine/blocked.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/index/slice.h"
#include "libmge/ops/index/slice_items.h"
#include "libmge/ops/nn/pooling/adaptive_pool2d.h"
#include "libmge/ops/nn/pooling/pool2d.h"
#include "libmge/ops/shape/pad.h"

namespace mge::megengine {
namespace {

enum PoolingMode : uint32_t { max, average, average_without_padding };
// A window that no real network has; each of its places becomes an operator.
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
    auto size = constant_values(site.in(1), "the size of an adaptive pooling");
    if (size.size() != 2) invalid("a size of ", size.size(), " numbers");
    if (p.mode() > average_without_padding) unsupported("pooling mode ", p.mode());
    auto pool = [&](const Tensor& x) {
        if (p.mode() == max) return ops::adaptive_max_pool2d(x, {.height = size[0], .width = size[1]});
        return ops::adaptive_avg_pool2d(x, {.height = size[0], .width = size[1]});
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
    if (p.n() % 2 == 0 || p.n() > widest_window) unsupported("a window of ", p.n(), " channels");
    int64_t half = p.n() / 2, channels = x.shape()[1];
    Tensor squares = ops::pad(ops::square(x), {.before = {0, half, 0, 0}, .after = {0, half, 0, 0}}), sum;
    for (int64_t i = 0; i < p.n(); ++i) {
        Tensor moved = ops::slice({squares}, {.items = {1, i, i + channels, ops::absent_bound, 0}});
        sum = sum ? ops::add(sum, moved) : moved;
    }
    auto number = [&](double value) { return scalar_tensor(value, x.dtype()); };
    Tensor scale = ops::add(ops::mul(sum, number(p.alpha())), number(p.k()));
    return {ops::mul(x, ops::pow(scale, number(-p.beta())))};
}

}  // namespace mge::megengine
