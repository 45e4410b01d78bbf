// SPDX-License-Identifier: Apache-2.0
// Convolutions along one axis, two or three, and transposed ones.

#include "libmge/ops/nn/convolution/conv2d.h"

#include "libmge/base/number_text.h"
#include "libmge/model/import/onnx/operators/windows.h"
#include "libmge/model/import/onnx/steps.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/activation.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/pad.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

// The shape of a weight, which no run changes.
IntList weight_extents(const Site& site, size_t i) {
    auto shape = find_shape(site.in(i));
    if (!shape) unsupported("a weight with open dimensions");
    if (shape->rank() < 3) invalid("its weight has shape ", *shape, ", expected rank 3 or more");
    if (shape->rank() > 5) unsupported("a convolution along ", shape->rank() - 2, " axes");
    if (shape->rank() == 5 && (*shape)[2] > most_taps)
        unsupported("a window of more than ", most_taps, " taps");
    return {shape->begin(), shape->end()};
}

void check_kernel(const Site& site, const IntList& kernel) {
    auto stated = site.attributes.integers("kernel_shape");
    if (stated && *stated != kernel) invalid("its kernel_shape differs from the shape of its weight");
}

// (OC, C, …) for one group, (G, OC / G, C, …) for several; constants stay constants.
Tensor grouped(const Tensor& weight, const IntList& extents, int64_t groups) {
    if (groups < 1 || extents[0] % groups)
        invalid("its ", counted(groups, "group"), " do not divide ", counted(extents[0], "channel"));
    IntList shape = extents;
    if (shape.size() == 3) shape.insert(shape.begin() + 2, 1);
    if (groups > 1) {
        shape[0] /= groups;
        shape.insert(shape.begin(), groups);
    }
    return weight.is_symbolic() ? ops::reshape(weight, {.shape = shape}) : weight.with_shape(Shape(shape));
}

// The sizes that a transposed convolution adds at the end, and the margins that it drops.
struct Transposed {
    IntList more, before, after;
};

Transposed transposed_of(const Site& site, const Window& window) {
    size_t axes = window.axes();
    Transposed t{site.attributes.integers("output_padding").value_or(IntList(axes, 0)), window.before,
                 window.after};
    auto wanted = site.attributes.integers("output_shape");
    std::string how = site.attributes.word("auto_pad", "NOTSET");
    bool is_same = how == "SAME_UPPER" || how == "SAME_LOWER";
    if (t.more.size() != axes || (wanted && wanted->size() < axes))
        invalid("its attributes do not have one value for each spatial axis");
    for (size_t i = 0; i < axes; ++i) {
        bool has_negative = t.before[i] < 0 || t.after[i] < 0 || t.more[i] < 0;
        if (has_negative || t.more[i] > largest_window)
            invalid("padding ", t.before[i], " and ", t.after[i], " with output_padding ", t.more[i],
                    " is not allowed");
    }
    for (size_t i = 0; i < axes && (wanted || is_same); ++i) {
        // An image `stride` times as large drops the same margins at any size.
        int64_t dropped = t.more[i] + window.reach(i) - window.stride[i];
        if (wanted) {
            auto extent = find_extent(site.in(0), int(i) + 2);
            if (!extent) unsupported("output_shape with open dimensions");
            if (*extent > largest_window) unsupported("a dimension of size ", *extent);
            int64_t size = (*wanted)[wanted->size() - axes + i];
            if (size < 0 || size > largest_window * window.stride[i])
                invalid("its output_shape holds ", size);
            dropped += window.stride[i] * *extent - size;
        }
        // Missing elements are added at the end.
        if (dropped < 0) t.more[i] -= std::exchange(dropped, 0);
        t.before[i] = how == "SAME_UPPER" ? dropped / 2 : dropped - dropped / 2;
        t.after[i] = dropped - t.before[i];
    }
    return t;
}

// Margins off the images, and zeros behind them.
Tensor trimmed(Tensor y, const Transposed& t) {
    IntList after(size_t(rank_of(y)), 0), none = after;
    for (size_t i = 0; i < t.more.size(); ++i) after[size_t(rank_of(y)) - t.more.size() + i] = t.more[i];
    if (after != none) y = ops::pad(y, {.before = none, .after = after});
    for (size_t i = 0; i < t.more.size(); ++i)
        if (t.before[i] || t.after[i])
            y = cut(y, rank_of(y) - int(t.more.size()) + int(i), t.before[i],
                    t.after[i] ? -t.after[i] : ops::absent_bound);
    return y;
}

// One number for each channel, in the rank of x.
Tensor per_channel(const Tensor& numbers, int rank) {
    if (rank_of(numbers) == 0 || numbers.shape()[0] == 1) return ops::reshape(numbers, {.shape = {}});
    IntList shape(size_t(rank), 1);
    shape[1] = -1;
    return ops::reshape(numbers, {.shape = shape});
}

// For volumes: a tap of the first of the three axes becomes a channel, (OC, C * taps, …).
Tensor with_taps_as_channels(const Tensor& weight, IntList& extents) {
    extents[1] *= extents[2];
    extents.erase(extents.begin() + 2);
    return weight.is_symbolic() ? Tensor(ops::reshape(weight, {.shape = extents}))
                                : weight.with_shape(Shape(extents));
}

// (N, C, D, H, W) => (N * D', C * taps, H, W): the slice below each tap along D.
Tensor slices_under_taps(const Tensor& x, const Window& window) {
    Tensors parts;
    for (int64_t tap = 0; tap < window.kernel[0]; ++tap) {
        int64_t first = tap * window.dilation[0], missing = window.reach(0) - 1 - first;
        Tensor part = ops::slice(
            {x}, {.items = {2, first, missing ? -missing : ops::absent_bound, window.stride[0], 0}});
        parts.push_back(ops::add_axis(part, {.axes = {2}}));
    }
    Tensor taps = ops::concat(TensorList(parts), {.axis = 2});
    taps = ops::transpose(taps, {.pattern = {0, 3, 1, 2, 4, 5}});
    return ops::flatten(ops::flatten(taps, {.start = 0, .end = 1}), {.start = 1, .end = 2});
}

Extent batch_of(const Tensor& x) {
    auto known = find_extent(x, 0);
    return known ? Extent(*known) : extent_of(x, 0);
}

// One convolution along the other two axes; x already has the margins along the first.
Tensor convolved_volumes(const Tensor& x, const Tensor& weight, IntList extents, const Window& window,
                         int64_t groups) {
    int64_t channels = extents[0];
    Tensor flat = with_taps_as_channels(weight, extents);
    Tensor y = ops::conv2d(slices_under_taps(x, window), grouped(flat, extents, groups),
                           {.stride = as_pair(window.stride, 1),
                            .padding = as_pair(window.before, 0),
                            .dilation = as_pair(window.dilation, 1),
                            .groups = groups});
    Tensor volumes = reshaped(y, {batch_of(x), -1, channels, extent_of(y, 2), extent_of(y, 3)});
    return ops::transpose(volumes, {.pattern = {0, 2, 1, 3, 4}});
}

// Zeros between the elements of an axis, and around it.
Tensor spread_along(const Tensor& x, int axis, int64_t stride, int64_t before, int64_t after) {
    Tensor y = x;
    int rank = rank_of(x);
    if (stride > 1) {
        IntList none(size_t(rank) + 1, 0), behind = none;
        behind[size_t(axis) + 1] = stride - 1;
        y = ops::pad(ops::add_axis(y, {.axes = {axis + 1}}), {.before = none, .after = behind});
        y = cut(ops::flatten(y, {.start = axis, .end = axis + 1}), axis, 0, 1 - stride);
    }
    IntList first(size_t(rank), 0), last = first;
    first[size_t(axis)] = before;
    last[size_t(axis)] = after;
    return before || after ? Tensor(ops::pad(y, {.before = first, .after = last})) : y;
}

// The contributions of each tap along the first of three axes are in separate channels.
Tensor transposed_volumes(const Tensor& x, const Tensor& weight, IntList extents, const Window& window,
                          int64_t groups) {
    int64_t taps = window.kernel[0], channels_of_group = extents[1];
    Tensor images = ops::flatten(ops::transpose(x, {.pattern = {0, 2, 1, 3, 4}}), {.start = 0, .end = 1});
    Tensor flat = grouped(with_taps_as_channels(weight, extents), extents, groups);
    int64_t channels = channels_of_group * groups;
    Tensor y = ops::conv2d_backward_data(
        flat, images,
        {.stride = as_pair(window.stride, 1), .dilation = as_pair(window.dilation, 1), .groups = groups});
    y = reshaped(y, {batch_of(x), -1, channels, taps, extent_of(y, 2), extent_of(y, 3)});
    Tensor sum;
    for (int64_t tap = 0; tap < taps; ++tap) {
        int64_t before = tap * window.dilation[0];
        Tensor part = ops::transpose(element(y, 3, tap), {.pattern = {0, 2, 1, 3, 4}});
        part = spread_along(part, 2, window.stride[0], before, window.reach(0) - 1 - before);
        sum = sum ? Tensor(ops::add(sum, part)) : part;
    }
    return sum;
}

// The window, strides and groups are those of the node; `weight` has the shape of its input.
Tensor convolved(const Site& site, Tensor x, const Tensor& weight, const IntList& extents) {
    IntList kernel(extents.begin() + 2, extents.end());
    check_kernel(site, kernel);
    int axes = int(kernel.size());
    if (rank_of(x) != axes + 2)
        invalid("its input has rank ", rank_of(x), ", its window has ", counted(axes, "axis", "axes"));
    Window window = open_window_of(site, kernel);
    x = with_late_margins(x, window, 0);
    int64_t groups = site.attributes.integer("group", 1);
    if (axes == 3 || !has_equal_margins(window)) x = with_window_margins(x, window, 0);
    if (axes == 3) return convolved_volumes(x, weight, extents, window, groups);
    Tensor y = ops::conv2d(as_images(x, axes), grouped(weight, extents, groups),
                           {.stride = as_pair(window.stride, 1),
                            .padding = as_pair(window.before, 0),
                            .dilation = as_pair(window.dilation, 1),
                            .groups = groups});
    return as_given(y, axes);
}

// Steps as real numbers, without the zero point: of images one, of weights one for each channel too.
Tensor centred_images(const Site& site, size_t zero) {
    Tensor x = as_dtype(site.in(0), DType::f32);
    return site.has(zero) ? ops::sub(x, as_dtype(ops::reshape(site.in(zero), {.shape = {}}), DType::f32)) : x;
}
Tensor centred_weight(const Site& site, size_t weight, size_t zero) {
    Tensor w = as_dtype(site.in(weight), DType::f32);
    if (!site.has(zero)) return w;
    Tensor point = as_dtype(site.in(zero), DType::f32);
    bool is_one = rank_of(point) == 0 || point.shape()[0] == 1;
    return ops::sub(w,
                    is_one ? ops::reshape(point, {.shape = {}}) : with_trailing_axes(point, rank_of(w) - 1));
}

Tensor steps_of_sums(const Site& site, const StepConvolution& steps, const Steps& y, size_t weight) {
    IntList extents = weight_extents(site, weight), kernel(extents.begin() + 2, extents.end());
    const auto axes = int(kernel.size());
    if (axes > 2 || rank_of(site.in(0)) != axes + 2 || !is_byte(site.in(0).dtype()) ||
        !is_byte(site.in(weight).dtype()))
        return {};
    check_kernel(site, kernel);
    Window window = open_window_of(site, kernel);
    if (!has_equal_margins(window) || !window.late.empty()) return {};
    StepConvolution all = steps;
    int64_t groups = site.attributes.integer("group", 1);
    all.x.values = as_images(site.in(0), axes);
    all.weight.values = grouped(site.in(weight), extents, groups);
    all.window = {.stride = as_pair(window.stride, 1),
                  .padding = as_pair(window.before, 0),
                  .dilation = as_pair(window.dilation, 1),
                  .groups = groups};
    Tensor result = convolved_steps(all, y);
    return result ? as_given(result, axes) : result;
}

// Sums of products of steps, which are exact in float32 if there are few.
Tensors import_conv_integer(const Site& site) {
    StepConvolution steps{{{}, {}, site.optional(2)}, {{}, {}, site.optional(3)}, {}, {}};
    if (Tensor sums = steps_of_sums(site, steps, {}, 1)) return {sums};
    IntList extents = weight_extents(site, 1);
    int64_t terms = 1;
    for (size_t i = 1; i < extents.size(); ++i) terms *= extents[i];
    if (terms > most_exact_terms)
        unsupported("sums of more than ", most_exact_terms, " products of integers");
    return {
        as_dtype(convolved(site, centred_images(site, 2), centred_weight(site, 1, 3), extents), DType::i32)};
}

// Inputs: x, its scale and zero point, the weight with its own, those of the result, and a bias in the
// product of both scales.
Tensors import_qlinear_conv(const Site& site) {
    auto scale = [&](size_t i) { return as_dtype(site.in(i), DType::f32); };
    StepConvolution steps{{{}, scale(1), site.in(2)}, {{}, scale(4), site.in(5)}, site.optional(8), {}};
    if (Tensor y = steps_of_sums(site, steps, {site.in(7), scale(6), site.in(7)}, 3)) return {y};
    Tensor sums =
        convolved(site, centred_images(site, 2), centred_weight(site, 3, 5), weight_extents(site, 3));
    int rank = rank_of(sums);
    if (site.has(8)) sums = ops::add(sums, per_channel(as_dtype(site.in(8), DType::f32), rank));
    Tensor factor = ops::div(ops::mul(scale(1), scale(4)), scale(6));
    Tensor y = ops::mul(sums, per_channel(factor, rank));
    return {steps_of(y, number(y, 1), ops::reshape(site.in(7), {.shape = {}}), site.in(7).dtype())};
}

// Depthwise along one axis, where the window covers earlier elements: the state, or zeros.
Tensors import_causal_conv(const Site& site) {
    const Tensor& x = site.in(0);
    IntList extents = weight_extents(site, 1);
    if (rank_of(x) != 3 || extents.size() != 3) invalid("its input has rank ", rank_of(x), ", expected 3");
    std::string activation = site.attributes.word("activation", "none");
    if (activation != "none" && activation != "silu" && activation != "swish")
        unsupported("the activation '", activation, "'");
    int64_t channels = extents[0], memory = extents[2] - 1;
    Tensor state =
        site.has(3) ? site.in(3)
                    : Tensor(ops::full(target_of({extent_of(x, 0), channels, memory}), {.dtype = x.dtype()}));
    Tensor whole = memory ? Tensor(ops::concat({state, x}, {.axis = 2})) : x;
    Tensor y = as_given(
        ops::conv2d(as_images(whole, 1), grouped(site.in(1), extents, channels), {.groups = channels}), 1);
    if (site.has(2)) y = ops::add(y, per_channel(site.in(2), 3));
    if (activation != "none") y = ops::silu(y);
    return {y, memory ? cut(whole, 2, -memory, ops::absent_bound) : state};
}

// The margins are dropped afterwards: those before and after need not be equal.
Tensors import_conv_transpose(const Site& site) {
    IntList extents = weight_extents(site, 1), kernel(extents.begin() + 2, extents.end());
    check_kernel(site, kernel);
    int axes = int(kernel.size());
    Window window = window_of_transposed(site, kernel);
    Transposed t = transposed_of(site, window);
    int64_t groups = site.attributes.integer("group", 1);
    Tensor y = axes == 3 ? transposed_volumes(site.in(0), site.in(1), extents, window, groups)
                         : as_given(ops::conv2d_backward_data(grouped(site.in(1), extents, groups),
                                                              as_images(site.in(0), axes),
                                                              {.stride = as_pair(window.stride, 1),
                                                               .dilation = as_pair(window.dilation, 1),
                                                               .groups = groups}),
                                    axes);
    y = trimmed(y, t);
    return {site.has(2) ? ops::add(y, per_channel(site.in(2), rank_of(y))) : y};
}

}  // namespace

Tensors import_conv(const Site& site) {
    Tensor y = convolved(site, site.in(0), site.in(1), weight_extents(site, 1));
    return {site.has(2) ? ops::add(y, per_channel(site.in(2), rank_of(y))) : y};
}

ImportRows convolution_rows() {
    static constexpr ImportRow rows[] = {
        {"CausalConvWithState", import_causal_conv, 27}, {"Conv", import_conv},
        {"ConvInteger", import_conv_integer, 10},        {"ConvTranspose", import_conv_transpose},
        {"QLinearConv", import_qlinear_conv, 10},
    };
    return rows;
}

}  // namespace mge::onnx
