// SPDX-License-Identifier: Apache-2.0
// Losses of scores (N, C, …) for the classes (N, …).

#include "libmge/device/device.h"
#include "libmge/model/import/onnx/parts.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/index/gather.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

// Minus the logarithm of the probability of each class, times its weight; ignored ones have weight 0.
Tensor likelihood_loss(const Site& site, const Tensor& log_probability) {
    const Tensor& classes = site.in(1);
    std::string reduction = site.attributes.word("reduction", "mean");
    Tensor index = as_dtype(classes, DType::i64), is_kept;
    if (site.attributes.has("ignore_index")) {
        auto ignored = double(site.attributes.value("ignore_index", 0));
        is_kept = ops::not_equal(index, number(index, ignored));
        // The index must be valid even if its value is not used.
        index = ops::where(is_kept, index, number(index, 0));
    }
    Tensor chosen = ops::gather(log_probability, as_index(ops::add_axis(index, {.axes = {1}})), {.axis = 1});
    Tensor loss = ops::neg(ops::remove_axis(chosen, {.axes = {1}}));
    Tensor weight = site.has(2) ? ops::take({site.in(2), as_index(index)}, {.axes = {0}})
                                : ops::full_like(loss, {.value = 1});
    if (is_kept) weight = ops::where(is_kept, weight, number(weight, 0));
    loss = ops::mul(loss, weight);
    if (reduction == "none") return loss;
    if (reduction == "sum") return ops::sum(loss);
    if (reduction == "mean") return ops::div(ops::sum(loss), ops::sum(weight));
    unsupported("the reduction '", reduction, "'");
}

Tensors import_negative_log_likelihood(const Site& site) { return {likelihood_loss(site, site.in(0))}; }

Tensors import_softmax_cross_entropy(const Site& site) {
    Tensor log_probability = log_softmax_along(site.in(0), 1);
    return {likelihood_loss(site, log_probability), log_probability};
}

}  // namespace

ImportRows losses_rows() {
    static constexpr ImportRow rows[] = {
        {"NegativeLogLikelihoodLoss", import_negative_log_likelihood, 12},
        {"SoftmaxCrossEntropyLoss", import_softmax_cross_entropy, 12},
    };
    return rows;
}

}  // namespace mge::onnx
