// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/operators/windows.h"

#include <algorithm>

#include "libmge/base/number_text.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "libmge/ops/shape/pad.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

IntList numbers_of(const Site& site, std::string_view name, size_t count, int64_t otherwise) {
    IntList numbers = site.attributes.integers(name).value_or(IntList(count, otherwise));
    if (numbers.size() != count)
        invalid("its attribute '", name, "' has ", counted(numbers.size(), "number"), ", expected ", count);
    return numbers;
}

// As many windows as strides in the image, rounded up; an odd extra element is added after it, or before.
void pad_to_same(const Site& site, Window& window) {
    for (size_t i = 0; i < window.axes(); ++i) {
        auto extent = find_extent(site.in(0), int(i) + 2);
        int64_t margin = window.reach(i) - 1;
        // With a stride of 1 the margins do not depend on the size.
        if (window.stride[i] != 1) {
            if (!extent) {
                window.before[i] = window.after[i] = 0;
                window.late.push_back(i);
                continue;
            }
            int64_t windows = ceil_div(*extent, window.stride[i]);
            margin = std::max<int64_t>(0, (windows - 1) * window.stride[i] + window.reach(i) - *extent);
        }
        window.before[i] = window.has_more_before ? margin - margin / 2 : margin / 2;
        window.after[i] = margin - window.before[i];
    }
}

}  // namespace

Window window_of_transposed(const Site& site, const IntList& kernel) {
    size_t axes = kernel.size();
    IntList pads = numbers_of(site, "pads", 2 * axes, 0);
    Window window{kernel,
                  numbers_of(site, "strides", axes, 1),
                  numbers_of(site, "dilations", axes, 1),
                  {pads.begin(), pads.begin() + ptrdiff_t(axes)},
                  {pads.begin() + ptrdiff_t(axes), pads.end()}};
    for (size_t i = 0; i < axes; ++i) {
        if (kernel[i] < 1 || window.stride[i] < 1 || window.dilation[i] < 1)
            invalid("its window has size ", kernel[i], " and stride ", window.stride[i],
                    ", expected at least 1");
        if (std::max({kernel[i], window.stride[i], window.dilation[i]}) > largest_window)
            unsupported("a window of ", kernel[i], " with stride ", window.stride[i], " and dilation ",
                        window.dilation[i]);
        auto [least, most] = std::minmax(window.before[i], window.after[i]);
        if (least < -largest_window || most > largest_window)
            unsupported("padding ", window.before[i], " and ", window.after[i]);
    }
    return window;
}

Window open_window_of(const Site& site, const IntList& kernel) {
    Window window = window_of_transposed(site, kernel);
    std::string how = site.attributes.word("auto_pad", "NOTSET");
    window.has_more_before = how == "SAME_LOWER";
    if (how == "SAME_UPPER" || how == "SAME_LOWER")
        pad_to_same(site, window);
    else if (how == "VALID")
        window.before = window.after = IntList(kernel.size(), 0);
    else if (how != "NOTSET")
        unsupported("auto_pad '", how, "'");
    return window;
}

Window window_of(const Site& site, const IntList& kernel) {
    Window window = open_window_of(site, kernel);
    if (!window.late.empty()) unsupported("automatic padding of open dimensions");
    return window;
}

bool has_equal_margins(const Window& window) {
    bool is_positive = std::ranges::all_of(window.before, [](int64_t n) { return n >= 0; });
    return is_positive && window.before == window.after;
}

Tensor with_window_margins(const Tensor& x, Window& window, double value) {
    IntList before(size_t(rank_of(x)) - window.axes(), 0), after = before;
    before.insert(before.end(), window.before.begin(), window.before.end());
    after.insert(after.end(), window.after.begin(), window.after.end());
    window.before = window.after = IntList(window.axes(), 0);
    return ops::pad(x, {.before = before, .after = after, .value = value});
}

// The largest margins that there may be, cut to those that there are.
Tensor with_late_margins(const Tensor& x, const Window& window, double value) {
    Tensor y = x;
    for (size_t i : window.late) {
        int axis = rank_of(x) - int(window.axes()) + int(i);
        int64_t stride = window.stride[i], reach = window.reach(i), most = reach - 1;
        Tensor extent = extents_of(x, axis, axis + 1);
        Tensor windows = ops::floor_div(ops::add(extent, whole(stride - 1)), whole(stride));
        Tensor end = ops::add(ops::mul(ops::sub(windows, whole(1)), whole(stride)), whole(reach));
        Tensor margin = ops::maximum(ops::sub(end, extent), whole(0));
        Tensor smaller = ops::floor_div(margin, whole(2)), larger = ops::sub(margin, smaller);
        IntList before(size_t(rank_of(x)), 0), after = before;
        before[size_t(axis)] = after[size_t(axis)] = most - most / 2;
        Tensor first = ops::sub(whole(most - most / 2), window.has_more_before ? larger : smaller);
        y = ops::pad(y, {.before = before, .after = after, .value = value});
        y = ops::slice({y, first, ops::add(first, ops::add(extent, margin))},
                       {.items = {axis, ops::bound_from_input, ops::bound_from_input, 1, 0}});
    }
    return y;
}

Tensor as_images(const Tensor& x, int axes) { return axes == 1 ? ops::add_axis(x, {.axes = {2}}) : x; }
Tensor as_given(const Tensor& images, int axes) {
    return axes == 1 ? ops::remove_axis(images, {.axes = {2}}) : images;
}
ops::Pair as_pair(const IntList& numbers, int64_t otherwise) {
    size_t last = numbers.size() - 1;
    return {numbers.size() == 1 ? otherwise : numbers[last - 1], numbers[last]};
}

}  // namespace mge::onnx
