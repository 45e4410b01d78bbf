// SPDX-License-Identifier: Apache-2.0
// Pools. Their windows may exceed the images if the number of windows is rounded up.

#include "libmge/ops/nn/pooling/pool2d.h"

#include <algorithm>
#include <limits>

#include "libmge/base/number_text.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/model/import/onnx/operators/windows.h"
#include "libmge/model/import/onnx/shapes/late_values.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/index/gather.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/pad.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

IntList pool_kernel(const Site& site) {
    auto kernel = site.attributes.integers("kernel_shape");
    if (!kernel || kernel->empty()) invalid("it has no kernel_shape");
    if (int(kernel->size()) != site.rank(0) - 2)
        invalid("its input has rank ", site.rank(0), ", its window has ",
                counted(kernel->size(), "axis", "axes"));
    return *kernel;
}

Window pool_window(const Site& site) { return window_of(site, pool_kernel(site)); }
Window open_pool_window(const Site& site) { return open_window_of(site, pool_kernel(site)); }

// The excess of the last windows if their number is rounded up; a window that would begin after the image and
// its margin does not count. If sizes differ between runs, the largest possible excess: it adds no window.
IntList overhang(const Site& site, const Window& window) {
    IntList result(window.axes(), 0);
    if (!site.attributes.integer("ceil_mode", 0)) return result;
    for (size_t i = 0; i < window.axes(); ++i) {
        if (window.stride[i] == 1 || std::ranges::count(window.late, i)) continue;
        auto extent = find_extent(site.in(0), int(i) + 2);
        if (!extent) {
            if (window.stride[i] + window.after[i] > window.reach(i))
                unsupported("ceil_mode with open dimensions");
            result[i] = window.stride[i] - 1;
            continue;
        }
        int64_t last_start = *extent + window.before[i] + window.after[i] - window.reach(i);
        int64_t last = round_up(last_start, window.stride[i]);
        if (last >= *extent + window.before[i]) last -= window.stride[i];
        result[i] = std::max<int64_t>(0, last - last_start);
    }
    return result;
}

bool is_dilated(const Window& window) {
    return std::ranges::any_of(window.dilation, [](int64_t n) { return n != 1; });
}

// x below a tap of the window along one axis, for every position of the window.
Tensor under_tap(const Tensor& x, const Window& window, size_t i, int64_t tap) {
    int64_t first = tap * window.dilation[i], missing = window.reach(i) - 1 - first;
    return ops::slice(
        {x}, {.items = {int64_t(i) + 2, first, missing ? -missing : ops::absent_bound, window.stride[i], 0}});
}

// The slices of the taps have one size, that of windows that fit into x; each alone could be empty.
Tensor assume_windows(const Tensor& y, const Tensor& x, const Window& window, size_t i) {
    Shape shape = symbolic_shape(x);
    if (!shape.is_known()) return y;
    const int axis = int(i) + 2;
    shape.set(axis, floor_div(shape.extent(axis) - window.reach(i), window.stride[i]) + 1);
    return assume(y, shape);
}

void check_taps(const Window& window) {
    int64_t taps = 0;
    for (int64_t k : window.kernel) taps += std::min(k, most_taps);
    if (taps > most_taps) unsupported("a window of more than ", most_taps, " taps");
}

// Tap by tap along each axis: for windows that our pools do not support.
template <class Join>
Tensor joined_taps(Tensor x, const Window& window, Join join) {
    check_taps(window);
    for (size_t i = 0; i < window.axes(); ++i) {
        Tensor result;
        for (int64_t tap = 0; tap < window.kernel[i]; ++tap) {
            Tensor part = under_tap(x, window, i, tap);
            result = result ? join(result, part) : part;
        }
        x = assume_windows(result, x, window, i);
    }
    return x;
}

Tensor sum_of(const Tensor& a, const Tensor& b) { return ops::add(a, b); }
// NaN and a number give the number, as in image windows.
Tensor larger_number(const Tensor& a, const Tensor& b) {
    Tensor larger = ops::maximum(b, a);
    return is_float(a.dtype()) ? Tensor(ops::where(ops::isnan(a), b, larger)) : larger;
}

// The number of each element; columns may count faster than rows.
Tensor numbered(const Tensor& x, bool columns_first) {
    std::vector<Extent> extents;
    IntList order{0, 1};
    int rank = rank_of(x);
    for (int i = 0; i < rank; ++i) extents.push_back(extent_of(x, i));
    if (columns_first) std::reverse(extents.begin() + 2, extents.end());
    for (int i = 2; i < rank; ++i) order.push_back(columns_first ? rank + 1 - i : i);
    Tensor count = ops::prod(extents_of(x, 0, rank), {.axes = {0}, .keepdims = true});
    return ops::transpose(reshaped(count_up(count, DType::i64), extents), {.pattern = order});
}

// The largest and their places, the first of equal ones: the last axis first, so that rows decide before
// columns.
Tensors largest_with_places(Tensor x, Tensor place, const Window& window) {
    check_taps(window);
    for (size_t i = window.axes(); i-- > 0;) {
        Tensor best, at;
        for (int64_t tap = 0; tap < window.kernel[i]; ++tap) {
            Tensor part = under_tap(x, window, i, tap), from = under_tap(place, window, i, tap);
            if (best) {
                Tensor is_larger = ops::greater(part, best);
                at = ops::where(is_larger, from, at);
                best = ops::maximum(best, part);
            } else {
                best = part, at = from;
            }
        }
        place = assume_windows(at, place, window, i);
        x = assume_windows(best, x, window, i);
    }
    return {x, place};
}

void add_overhang(Window& window, const IntList& more) {
    for (size_t i = 0; i < window.axes(); ++i) window.after[i] += more[i];
}

double lowest_of(DType dtype) {
    if (dtype == DType::u8) return 0;
    if (dtype == DType::i8) return -128;
    return -std::numeric_limits<double>::infinity();
}

Tensors import_max_pool(const Site& site) {
    Tensor x = site.in(0);
    bool columns_first = site.attributes.integer("storage_order", 0);
    Window window = open_pool_window(site);
    if (site.makes(1) && !window.late.empty()) unsupported("automatic padding of open dimensions");
    IntList more = overhang(site, window);
    add_overhang(window, more);
    int axes = int(window.axes());
    DType dtype = x.dtype();
    x = with_late_margins(x, window, lowest_of(dtype));
    bool is_image = axes <= 2 && is_float(dtype) && !is_dilated(window);
    if (site.makes(1)) {
        Window around = window;
        Tensor place = with_window_margins(numbered(x, columns_first), around, 0);
        x = with_window_margins(x, window, lowest_of(dtype));
        return largest_with_places(x, place, window);
    }
    bool is_plain = is_image && has_equal_margins(window);
    if (!is_plain) {
        x = with_window_margins(x, window, lowest_of(dtype));
        if (!is_image) return {joined_taps(x, window, larger_number)};
    }
    return {as_given(ops::max_pool2d(as_images(x, axes), {.kernel = as_pair(window.kernel, 1),
                                                          .stride = as_pair(window.stride, 1),
                                                          .padding = as_pair(window.before, 0)}),
                     axes)};
}

// A number between steps: |x|^p and the p-th root.
Tensor to_power(const Tensor& x, int64_t p) {
    if (p < 1) invalid("its order p is ", p, ", expected at least 1");
    if (p == 1) return ops::abs(x);
    return p == 2 ? Tensor(ops::square(x)) : Tensor(ops::pow(ops::abs(x), number(x, double(p))));
}
Tensor root_of(const Tensor& x, int64_t p) {
    if (p == 1) return x;
    return p == 2 ? Tensor(ops::sqrt(x)) : Tensor(ops::pow(x, number(x, 1 / double(p))));
}

Tensors import_lp_pool(const Site& site) {
    int64_t p = site.attributes.integer("p", 2);
    Window window = pool_window(site);
    add_overhang(window, overhang(site, window));
    Tensor x = with_window_margins(to_power(site.in(0), p), window, 0);
    return {root_of(joined_taps(x, window, sum_of), p)};
}

// Values at the positions found by a pool. With an explicit shape the image is in the first corner.
Tensors import_max_unpool(const Site& site) {
    const Tensor &x = site.in(0), &place = site.in(1);
    Window window = pool_window(site);
    std::vector<Extent> extents{extent_of(x, 0), extent_of(x, 1)};
    for (size_t i = 0; i < window.axes(); ++i) {
        auto extent = find_extent(x, int(i) + 2);
        if (!extent) unsupported("positions in images with open dimensions");
        if (*extent > largest_window) unsupported("a dimension of size ", *extent);
        extents.emplace_back((*extent - 1) * window.stride[i] + window.kernel[i] - window.before[i] -
                             window.after[i]);
    }
    Tensor target = target_of(extents);
    Tensor empty = ops::reshape(ops::full(target, {.dtype = x.dtype()}), {.shape = {-1}});
    Tensor flat = ops::scatter(empty, as_index(ops::reshape(place, {.shape = {-1}})),
                               ops::reshape(x, {.shape = {-1}}), {.axis = 0});
    Tensor y = reshaped(flat, extents);
    if (!site.has(2)) return {y};
    int rank = rank_of(x);
    for (int i = 0; i < rank; ++i) {
        Extent wanted = as_dtype(cut(site.in(2), 0, i, i + 1), DType::i64);
        Stretch stretch{i, rank - 1 - i, extents[size_t(i)], 0, wanted};
        y = stretch_of(y, stretch, Outside::value, number(x, 0));
    }
    return {y};
}

IntList image_axes(const Site& site) {
    IntList axes;
    for (int i = 2; i < site.rank(0); ++i) axes.push_back(i);
    if (axes.empty()) unsupported("an input of rank ", site.rank(0));
    return axes;
}

Tensors import_global_average_pool(const Site& site) {
    const Tensor& x = site.in(0);
    return {as_dtype(ops::mean(x, {.axes = image_axes(site), .keepdims = true}), x.dtype())};
}
Tensors import_global_max_pool(const Site& site) {
    return {ops::max(site.in(0), {.axes = image_axes(site), .keepdims = true})};
}
Tensors import_global_lp_pool(const Site& site) {
    int64_t p = site.attributes.integer("p", 2);
    Tensor sum = ops::sum(to_power(site.in(0), p), {.axes = image_axes(site), .keepdims = true});
    return {root_of(sum, p)};
}

// x / (bias + alpha / size * the sum of the squares of neighbouring channels) ^ beta.
Tensors import_local_response_norm(const Site& site) {
    const Tensor& x = site.in(0);
    int64_t size = site.attributes.integer("size", 1);
    if (size < 1 || size > 1024) invalid("its size is ", size, ", expected 1 to 1024");
    double alpha = site.attributes.number("alpha", double(1e-4F)),
           beta = site.attributes.number("beta", 0.75);
    if (rank_of(x) < 2) invalid("its input of shape ", x.shape(), " has no channel axis");
    IntList before(size_t(rank_of(x)), 0), after = before;
    before[1] = (size - 1) / 2;
    after[1] = size - 1 - before[1];
    Tensor squares = ops::pad(ops::square(x), {.before = before, .after = after}), sum;
    for (int64_t i = 0; i < size; ++i) {
        Tensor part = cut(squares, 1, i, i + 1 < size ? i + 1 - size : ops::absent_bound);
        sum = sum ? ops::add(sum, part) : part;
    }
    Tensor base = ops::add(ops::mul(sum, number(x, alpha / double(size))),
                           number(x, site.attributes.number("bias", 1)));
    return {ops::div(x, ops::pow(base, number(x, beta)))};
}

}  // namespace

// If margins count, only those in the file do; the excess from rounding up never counts.
Tensors import_average_pool(const Site& site) {
    Tensor x = site.in(0);
    bool counts_margins = site.attributes.integer("count_include_pad", 0);
    Window window = open_pool_window(site);
    IntList more = overhang(site, window);
    bool has_more = std::ranges::any_of(more, [](int64_t n) { return n > 0; });
    int axes = int(window.axes());
    if (axes <= 2 && !is_dilated(window) && has_equal_margins(window) && !has_more && window.late.empty())
        return {as_given(ops::avg_pool2d(as_images(x, axes), {.kernel = as_pair(window.kernel, 1),
                                                              .stride = as_pair(window.stride, 1),
                                                              .padding = as_pair(window.before, 0),
                                                              .count_include_pad = counts_margins}),
                         axes)};
    Tensor ones = with_late_margins(ops::full_like(x, {.value = 1}), window, counts_margins);
    x = with_late_margins(x, window, 0);
    Window bare = window;
    if (counts_margins) ones = with_window_margins(ones, bare, 1);
    // The window's margins are the remaining ones, plus the excess from rounding up.
    Window around = window;
    if (counts_margins) around.before = around.after = IntList(window.axes(), 0);
    add_overhang(around, more);
    add_overhang(window, more);
    x = with_window_margins(x, window, 0);
    ones = with_window_margins(ones, around, 0);
    return {ops::div(joined_taps(x, window, sum_of), joined_taps(ones, window, sum_of))};
}

ImportRows pooling_rows() {
    static constexpr ImportRow rows[] = {
        {"AveragePool", import_average_pool},
        {"GlobalAveragePool", import_global_average_pool},
        {"GlobalLpPool", import_global_lp_pool},
        {"GlobalMaxPool", import_global_max_pool},
        {"LRN", import_local_response_norm},
        {"LpPool", import_lp_pool},
        {"MaxPool", import_max_pool},
        {"MaxUnpool", import_max_unpool, 9},
    };
    return rows;
}

}  // namespace mge::onnx
