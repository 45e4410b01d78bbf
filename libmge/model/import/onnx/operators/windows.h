// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sliding windows over images: common part of convolutions and pools.

#include "libmge/model/import/onnx/parts.h"
#include "libmge/ops/nn/convolution/conv2d.h"

namespace mge::onnx {

// One number per axis of the window.
struct Window {
    IntList kernel, stride, dilation, before, after;
    // Axes whose margins depend on the size and differ between runs: empty here (`with_late_margins`).
    std::vector<size_t> late{};
    bool has_more_before = false;  // for an odd number of elements, if margins follow from sizes
    size_t axes() const { return kernel.size(); }
    int64_t reach(size_t i) const { return dilation[i] * (kernel[i] - 1) + 1; }
};

// Limit of a window with its margins in any direction: its reach must be a representable number.
inline constexpr int64_t largest_window = 1 << 24;
// Limit of the operators for a window that is computed tap by tap.
inline constexpr int64_t most_taps = 1024;

// From the attributes, and from the images if margins follow from their sizes.
Window window_of(const Site& site, const IntList& kernel);
// The same; some axes may be late.
Window open_window_of(const Site& site, const IntList& kernel);
// The same for transposed windows, whose margins follow from sizes differently.
Window window_of_transposed(const Site& site, const IntList& kernel);
// The margins are equal on both sides.
bool has_equal_margins(const Window& window);
// Images with the margins around their last axes, and a window without margins.
Tensor with_window_margins(const Tensor& x, Window& window, double value);
// Adds those of the late axes.
Tensor with_late_margins(const Tensor& x, const Window& window, double value);

// Always of rank 4: a single axis gets an axis of size 1 before it.
Tensor as_images(const Tensor& x, int axes);
Tensor as_given(const Tensor& images, int axes);
// Numbers for the last two axes.
ops::Pair as_pair(const IntList& numbers, int64_t otherwise);

}  // namespace mge::onnx
