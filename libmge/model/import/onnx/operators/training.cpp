// SPDX-License-Identifier: Apache-2.0
// Optimizer steps (the domain ai.onnx.preview.training): a rate and the number of steps, followed by all
// weights, all their gradients, and the state of earlier steps.

#include "libmge/base/number_text.h"
#include "libmge/model/import/onnx/parts.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/elementwise/where.h"

namespace mge::onnx {
namespace {

Tensor times(const Tensor& x, double factor) { return ops::mul(x, number(x, factor)); }

// One weight with its gradient and its state.
using OfWeight = std::span<const Tensor>;

// The results of `step` for each weight: the new weight and its state.
Tensors each_weight(const Site& site, size_t operands, const std::function<Tensors(OfWeight)>& step) {
    size_t have = site.size() < 2 ? 0 : site.size() - 2, weights = have / operands;
    if (!weights || have % operands)
        invalid("it has ", counted(have, "operand"), ", expected ", operands, " for each weight");
    std::vector<Tensors> made;
    for (size_t i = 0; i < weights; ++i) {
        Tensors given;
        for (size_t k = 0; k < operands; ++k) given.push_back(site.in(2 + k * weights + i));
        made.push_back(step(given));
    }
    Tensors results;
    for (size_t k = 0; k < made[0].size(); ++k)
        for (auto& of_weight : made) results.push_back(of_weight[k]);
    return results;
}

Tensor gradient_of(const Site& site, OfWeight given) {
    double decay = site.attributes.number("norm_coefficient", 0);
    return decay == 0 ? given[1] : Tensor(ops::add(times(given[0], decay), given[1]));
}

Tensor rate_of(const Site& site, const Tensor& x) { return as_dtype(site.in(0), x.dtype()); }
Tensor steps_before(const Site& site, const Tensor& x) { return as_dtype(site.in(1), x.dtype()); }

// The root of a sum of squares, which is divided by.
Tensor divisor_of(const Site& site, const Tensor& squares) {
    double epsilon = site.attributes.number("epsilon", double(1e-6F));
    return ops::add(ops::sqrt(squares), number(squares, epsilon));
}

// 1 - base^steps
Tensor correction(const Tensor& steps, double base) {
    return ops::sub(number(steps, 1), ops::pow(number(steps, base), steps));
}

// w a + (1 - w) b
Tensor mixed(double w, const Tensor& a, const Tensor& b) { return ops::add(times(a, w), times(b, 1 - w)); }

Tensors import_adagrad(const Site& site) {
    double decay = site.attributes.number("decay_factor", 0);
    return each_weight(site, 3, [&](OfWeight given) -> Tensors {
        auto &x = given[0], &kept = given[2];
        Tensor slower = ops::add(times(steps_before(site, x), decay), number(x, 1));
        Tensor gradient = gradient_of(site, given), squares = ops::add(kept, ops::square(gradient));
        Tensor change =
            ops::div(ops::mul(ops::div(rate_of(site, x), slower), gradient), divisor_of(site, squares));
        return {ops::sub(x, change), squares};
    });
}

Tensors import_adam(const Site& site) {
    double alpha = site.attributes.number("alpha", double(0.9F));
    double beta = site.attributes.number("beta", double(0.999F));
    double decay = site.attributes.number("norm_coefficient_post", 0);
    return each_weight(site, 4, [&](OfWeight given) -> Tensors {
        auto& x = given[0];
        Tensor gradient = gradient_of(site, given);
        Tensor mean = mixed(alpha, given[2], gradient);
        Tensor squares = mixed(beta, given[3], ops::square(gradient));
        Tensor rate = rate_of(site, x), steps = steps_before(site, x);
        Tensor corrected =
            ops::mul(rate, ops::div(ops::sqrt(correction(steps, beta)), correction(steps, alpha)));
        rate = ops::where(ops::greater(steps, number(steps, 0)), corrected, rate);
        Tensor y = ops::sub(x, ops::div(ops::mul(rate, mean), divisor_of(site, squares)));
        return {decay == 0 ? y : times(y, 1 - decay), mean, squares};
    });
}

Tensors import_momentum(const Site& site) {
    double alpha = site.attributes.number("alpha", 0), beta = site.attributes.number("beta", 0);
    std::string mode = site.attributes.word("mode", "");
    if (mode != "standard" && mode != "nesterov") unsupported("the mode '", mode, "'");
    return each_weight(site, 3, [&](OfWeight given) -> Tensors {
        auto& x = given[0];
        Tensor gradient = gradient_of(site, given), steps = steps_before(site, x);
        // The first step uses the whole gradient.
        Tensor share = ops::where(ops::greater(steps, number(steps, 0)), number(x, beta), number(x, 1));
        Tensor kept = ops::add(times(given[2], alpha), ops::mul(share, gradient));
        Tensor change = mode == "standard" ? kept : Tensor(ops::add(gradient, times(kept, alpha)));
        return {ops::sub(x, ops::mul(rate_of(site, x), change)), kept};
    });
}

}  // namespace

ImportRows training_rows() {
    static constexpr ImportRow rows[] = {
        {"ai.onnx.preview.training.Adagrad", import_adagrad, 1, 1},
        {"ai.onnx.preview.training.Adam", import_adam, 1, 1},
        {"ai.onnx.preview.training.Momentum", import_momentum, 1, 1},
    };
    return rows;
}

}  // namespace mge::onnx
