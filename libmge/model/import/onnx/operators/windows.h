// SPDX-License-Identifier: Apache-2.0
#pragma once
// Windows that move over images: what convolutions and pools have in common.

#include "libmge/model/import/onnx/parts.h"
#include "libmge/ops/nn/convolution/conv2d.h"

namespace mge::onnx {

// One number per axis of the window.
struct Window {
    IntList kernel, stride, dilation, before, after;
    // Axes whose margins differ between runs, as their extents do: none here (`with_late_margins`).
    std::vector<size_t> late{};
    bool has_more_before = false;  // of an odd number of elements, where margins follow from extents
    size_t axes() const { return kernel.size(); }
    int64_t reach(size_t i) const { return dilation[i] * (kernel[i] - 1) + 1; }
};

// Of a window and its margins in any direction: what it reaches has to be a number.
inline constexpr int64_t largest_window = 1 << 24;
// So many operators a window may become that goes tap by tap.
inline constexpr int64_t most_taps = 1024;

// Of the attributes, and of the images where margins follow from their extents.
Window window_of(const Site& site, const IntList& kernel);
// The same; some axes may be late.
Window open_window_of(const Site& site, const IntList& kernel);
// The same where margins that follow from extents are another matter.
Window window_of_transposed(const Site& site, const IntList& kernel);
// The margins are equal on both sides.
bool has_equal_margins(const Window& window);
// Images with the margins around their last axes, and a window that needs none.
Tensor with_window_margins(const Tensor& x, Window& window, double value);
// With those of the late axes.
Tensor with_late_margins(const Tensor& x, const Window& window, double value);

// Of rank 4 whatever the number of axes: an axis of extent 1 stands before a single one.
Tensor as_images(const Tensor& x, int axes);
Tensor as_given(const Tensor& images, int axes);
// Of the last two axes.
ops::Pair as_pair(const IntList& numbers, int64_t otherwise);

}  // namespace mge::onnx
