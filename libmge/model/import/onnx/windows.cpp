// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/windows.h"

#include <algorithm>

#include "libmge/ops/shape/pad.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

// Of a window in any direction: what it reaches has to be a number.
constexpr int64_t largest_window = 1 << 24;

IntList numbers_of(const Site& site, std::string_view name, size_t count, int64_t otherwise) {
    IntList numbers = site.attributes.integers(name).value_or(IntList(count, otherwise));
    if (numbers.size() != count)
        invalid("its attribute '", name, "' has ", numbers.size(), " numbers, not ", count);
    return numbers;
}

// As many windows as strides in the image, rounded up; an odd element more lies after it, or before.
void pad_to_same(const Site& site, Window& window, bool more_before) {
    for (size_t i = 0; i < window.axes(); ++i) {
        auto extent = site.extents.find_extent(site.in(0), int(i) + 2);
        int64_t margin = window.reach(i) - 1;
        // With a stride of 1 the margins do not depend on the extent.
        if (window.stride[i] != 1) {
            if (!extent) unsupported("margins that follow from extents which differ between runs");
            int64_t windows = (*extent + window.stride[i] - 1) / window.stride[i];
            margin = std::max<int64_t>(0, (windows - 1) * window.stride[i] + window.reach(i) - *extent);
        }
        window.before[i] = more_before ? margin - margin / 2 : margin / 2;
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
            invalid("a window of ", kernel[i], " with stride ", window.stride[i]);
        if (std::max({kernel[i], window.stride[i], window.dilation[i]}) > largest_window)
            unsupported("a window of ", kernel[i], " with stride ", window.stride[i], " and dilation ",
                        window.dilation[i]);
    }
    return window;
}

Window window_of(const Site& site, const IntList& kernel) {
    Window window = window_of_transposed(site, kernel);
    std::string how = site.attributes.word("auto_pad", "NOTSET");
    if (how == "SAME_UPPER" || how == "SAME_LOWER")
        pad_to_same(site, window, how == "SAME_LOWER");
    else if (how == "VALID")
        window.before = window.after = IntList(kernel.size(), 0);
    else if (how != "NOTSET")
        unsupported("margins '", how, "'");
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

Tensor as_images(const Tensor& x, int axes) { return axes == 1 ? ops::add_axis(x, {.axes = {2}}) : x; }
Tensor as_given(const Tensor& images, int axes) {
    return axes == 1 ? ops::remove_axis(images, {.axes = {2}}) : images;
}
ops::Pair as_pair(const IntList& numbers, int64_t otherwise) {
    size_t last = numbers.size() - 1;
    return {numbers.size() == 1 ? otherwise : numbers[last - 1], numbers[last]};
}

}  // namespace mge::onnx
