// SPDX-License-Identifier: Apache-2.0
// Normalisations and softmax.

#include <limits>

#include "libmge/base/number_text.h"
#include "libmge/model/import/onnx/parts.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/nn/batch_norm/batch_norm.h"
#include "libmge/ops/nn/group_norm.h"
#include "libmge/ops/nn/layer_norm.h"
#include "libmge/ops/nn/softmax.h"
#include "libmge/ops/reduce/arg_extreme.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

constexpr double usual_epsilon = double(1e-5F);

// As f32 (channels,), the form of statistics and their scales.
Tensor as_statistic(const Tensor& t) { return as_dtype(t, DType::f32); }

// Before version 13 the axes from one on are one.
Tensors over_axis(const Site& site, const std::function<Tensor(const Tensor& x, int axis)>& apply) {
    const Tensor& x = site.in(0);
    int axis = site.axis(site.attributes.integer("axis", site.opset < 13 ? 1 : -1), rank_of(x));
    if (site.opset >= 13 || axis == rank_of(x) - 1) return {apply(x, axis)};
    Tensor y = apply(ops::flatten(x, {.start = axis, .end = -1}), axis);
    return {ops::reshape_like(y, x)};
}

// x minus its maximum, and the exponentials of that, which overflow in no dtype.
struct Exponentials {
    Tensor shifted, powers, sum;
};
Exponentials exponentials_along(const Tensor& x, int axis) {
    ops::ReduceParams along{.axes = {axis}, .keepdims = true};
    Tensor shifted = ops::sub(x, ops::max(x, along)), powers = ops::exp(shifted);
    return {shifted, powers, ops::sum(powers, along)};
}

// x must be a batch of images with channels for batch normalisation.
void require_channels(const Site& site) {
    if (site.rank(0) < 2) unsupported("an input of rank ", site.rank(0));
}

// Uses the mean and the variance of the batch, which also update the running ones; versions from 14 on.
Tensors in_training(const Site& site) {
    const Tensor& x = site.in(0);
    Tensor wide = as_wide(x);
    double momentum = site.attributes.number("momentum", double(0.9F));
    double epsilon = site.attributes.number("epsilon", usual_epsilon);
    IntList axes;
    for (int i = 0; i < rank_of(x); ++i)
        if (i != 1) axes.push_back(i);
    Tensor mean = ops::mean(wide, {.axes = axes, .keepdims = true}), centred = ops::sub(wide, mean);
    Tensor variance = ops::mean(ops::square(centred), {.axes = axes, .keepdims = true});
    auto per_channel = [&](size_t i) { return with_trailing_axes(as_wide(site.in(i)), rank_of(x) - 2); };
    Tensor y = ops::mul(centred, ops::rsqrt(ops::add(variance, number(variance, epsilon))));
    y = ops::add(ops::mul(y, per_channel(1)), per_channel(2));
    auto moved = [&](size_t i, const Tensor& own) -> Tensor {
        Tensor old = ops::mul(as_wide(site.in(i)), number(own, momentum));
        Tensor now = ops::mul(ops::remove_axis(own, {.axes = axes}), number(own, 1 - momentum));
        return as_dtype(ops::add(old, now), site.in(i).dtype());
    };
    return {as_dtype(y, x.dtype()), moved(3, mean), moved(4, variance)};
}

Tensors import_batch_norm(const Site& site) {
    require_channels(site);
    bool is_training = site.attributes.integer("training_mode", 0);
    site.attributes.number("momentum", 0.9);
    site.attributes.integers("consumed_inputs");
    if (site.opset < 9 && !site.attributes.integer("spatial", 1))
        unsupported("statistics per element (spatial=0)");
    if (site.opset < 7 && !site.attributes.integer("is_test", 0)) unsupported("training mode (is_test=0)");
    if (is_training) return in_training(site);
    double epsilon = site.attributes.number("epsilon", usual_epsilon);
    Tensor y = ops::batch_norm(site.in(0), as_statistic(site.in(1)), as_statistic(site.in(2)),
                               as_statistic(site.in(3)), as_statistic(site.in(4)),
                               {.training = false, .epsilon = epsilon})[0];
    return {as_dtype(y, site.in(0).dtype())};
}

Tensors import_instance_norm(const Site& site) {
    require_channels(site);
    site.attributes.integers("consumed_inputs");
    auto channels = find_extent(site.in(0), 1);
    if (!channels) channels = find_extent(site.in(1), 0);
    if (!channels) unsupported("an open number of channels");
    return {ops::group_norm(
        site.in(0), site.in(1), site.in(2),
        {.groups = *channels, .epsilon = site.attributes.number("epsilon", usual_epsilon)})[0]};
}

// Before version 21 there is one scale for each group, afterwards one for each channel.
Tensors import_group_norm(const Site& site) {
    require_channels(site);
    site.attributes.integer("stash_type", 1);
    int64_t groups = site.attributes.integer("num_groups", 1);
    const bool is_per_channel = site.opset >= 21;
    auto channels = find_extent(site.in(0), 1);
    if (!channels && is_per_channel) channels = find_extent(site.in(1), 0);
    if (!channels) unsupported("an open number of channels");
    if (groups < 1 || *channels % groups)
        invalid("its ", counted(groups, "group"), " do not divide ", counted(*channels, "channel"));
    double epsilon = site.attributes.number("epsilon", usual_epsilon);
    auto per_channel = [&](const Tensor& t) {
        if (is_per_channel) return t;
        Tensor ones = as_dtype(vector_of(IntList(size_t(*channels / groups), 1)), t.dtype());
        return ops::reshape(ops::mul(ops::add_axis(t, {.axes = {1}}), ones), {.shape = {-1}});
    };
    return {ops::group_norm(site.in(0), per_channel(site.in(1)), per_channel(site.in(2)),
                            {.groups = groups, .epsilon = epsilon})[0]};
}

// Whether a scale has a number for each element of the axes from one on; otherwise it repeats.
bool has_all_from(const Site& site, const Tensor& scale, int axis) {
    const Tensor& x = site.in(0);
    if (!scale.shape().is_known() || scale.shape().rank() != rank_of(x) - axis) return false;
    for (int i = axis; i < rank_of(x); ++i) {
        auto extent = x.shape().is_known() ? std::optional(x.shape()[i]) : find_extent(x, i);
        if (extent != scale.shape()[i - axis]) return false;
    }
    return true;
}

Tensors import_layer_norm(const Site& site) {
    const Tensor& x = site.in(0);
    int axis = site.axis(site.attributes.integer("axis", -1), rank_of(x));
    site.attributes.integer("stash_type", 1);
    double epsilon = site.attributes.number("epsilon", usual_epsilon);
    int axes = rank_of(x) - axis;
    bool is_usual =
        has_all_from(site, site.in(1), axis) && (!site.has(2) || has_all_from(site, site.in(2), axis));
    Tensors found = is_usual
                        ? ops::layer_norm(x, site.in(1), site.optional(2), {.axes = axes, .epsilon = epsilon})
                        : ops::layer_norm(x, Tensor(), Tensor(), {.axes = axes, .epsilon = epsilon});
    // A scale may be smaller and repeat.
    if (!is_usual) found[0] = ops::mul(found[0], site.in(1));
    if (!is_usual && site.has(2)) found[0] = ops::add(found[0], site.in(2));
    IntList trailing;
    for (int i = axis; i < rank_of(x); ++i) trailing.push_back(i);
    for (size_t i = 1; i < 3; ++i) found[i] = ops::add_axis(found[i], {.axes = trailing});
    return {found[0], found[1], found[2]};
}

Tensors import_rms_norm(const Site& site) {
    const Tensor& x = site.in(0);
    int axis = site.axis(site.attributes.integer("axis", -1), rank_of(x));
    site.attributes.integer("stash_type", 1);
    Tensor wide = by_root_mean_square(as_wide(x), axis, site.attributes.number("epsilon", usual_epsilon));
    return {ops::mul(as_dtype(wide, x.dtype()), site.in(1))};
}

Tensors import_mean_variance_norm(const Site& site) {
    const Tensor& x = site.in(0);
    IntList axes = site.attributes.integers("axes").value_or(IntList{0, 2, 3});
    Tensor mean = ops::mean(x, {.axes = axes, .keepdims = true}), centred = ops::sub(x, mean);
    Tensor variance = ops::mean(ops::square(centred), {.axes = axes, .keepdims = true});
    return {ops::div(centred, ops::add(ops::sqrt(variance), number(x, 1e-9)))};
}

// A vector of zeros is not divided.
Tensors import_lp_norm(const Site& site) {
    const Tensor& x = site.in(0);
    int axis = site.axis(site.attributes.integer("axis", -1), rank_of(x));
    int64_t p = site.attributes.integer("p", 2);
    if (p != 1 && p != 2) unsupported("the norm of order ", p);
    Tensor sum = ops::sum(p == 1 ? ops::abs(x) : ops::square(x), {.axes = {axis}, .keepdims = true});
    Tensor norm = p == 1 ? sum : ops::sqrt(sum);
    return {ops::div(x, ops::where(ops::equal(norm, number(norm, 0)), number(norm, 1), norm))};
}
Tensors import_log_softmax(const Site& site) {
    return over_axis(site, [](auto& x, int axis) { return log_softmax_along(x, axis); });
}

// 1 at the first of the largest.
Tensors import_hardmax(const Site& site) {
    return over_axis(site, [](auto& x, int axis) {
        Tensor some = with_loser(x, {axis}, -std::numeric_limits<double>::infinity());
        Tensor largest = ops::argmax(some, {.axis = axis, .keepdims = true});
        Tensor places = with_trailing_axes(count_up(extent_of(x, axis), DType::i32), rank_of(x) - 1 - axis);
        return as_dtype(ops::equal(largest, places), x.dtype());
    });
}

}  // namespace

// The mean of the squares over the trailing axes is 1 afterwards.
Tensor by_root_mean_square(const Tensor& x, int first, double epsilon) {
    IntList axes;
    for (int i = first; i < rank_of(x); ++i) axes.push_back(i);
    Tensor mean = ops::mean(ops::square(x), {.axes = axes, .keepdims = true});
    return ops::mul(x, ops::rsqrt(ops::add(mean, number(mean, epsilon))));
}

// Our operator computes in f32. ONNX's definition rounds to f16 after each step.
Tensor softmax_along(const Tensor& x, int axis) {
    bool is_in_steps = x.dtype() == DType::f64 || x.dtype() == DType::f16;
    if (!is_in_steps) return ops::softmax(x, {.axis = axis});
    Exponentials e = exponentials_along(x, axis);
    return ops::div(e.powers, e.sum);
}

Tensor log_softmax_along(const Tensor& x, int axis) {
    if (x.dtype() != DType::f64) return ops::softmax(x, {.axis = axis, .log = true});
    Exponentials e = exponentials_along(x, axis);
    return ops::sub(e.shifted, ops::log(e.sum));
}

Tensors import_softmax(const Site& site) {
    return over_axis(site, [](auto& x, int axis) { return softmax_along(x, axis); });
}

ImportRows normalisation_rows() {
    static constexpr ImportRow rows[] = {
        {"BatchNormalization", import_batch_norm},
        {"GroupNormalization", import_group_norm, 18},
        {"Hardmax", import_hardmax},
        {"InstanceNormalization", import_instance_norm},
        {"LayerNormalization", import_layer_norm},
        {"LogSoftmax", import_log_softmax},
        {"LpNormalization", import_lp_norm},
        {"MeanVarianceNormalization", import_mean_variance_norm, 9},
        {"RMSNormalization", import_rms_norm, 23},
        // ONNX Runtime puts it, and older LayerNormalization, into the domain of the standard.
        {"SimplifiedLayerNormalization", import_rms_norm},
        {"Softmax", import_softmax},
    };
    return rows;
}

}  // namespace mge::onnx
