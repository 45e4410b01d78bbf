// SPDX-License-Identifier: Apache-2.0
// Random numbers follow from a state that the file or the place of the node gives: each run has the same.

#include <bit>

#include "libmge/device/device.h"
#include "libmge/model/import/onnx/parts.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/nn/softmax.h"
#include "libmge/ops/random/distribution.h"
#include "libmge/ops/random/multinomial.h"

namespace mge::onnx {
namespace {

// Without a seed, nodes that make different values have different ones.
uint64_t own_seed(const Site& site) {
    uint64_t hash = 1469598103934665603u;
    for (char letter : site.node.output(0)) hash = (hash ^ uint8_t(letter)) * 1099511628211u;
    return hash ^ hash >> 32;
}

Tensor state_of_seed(uint64_t seed) {
    int32_t words[2] = {int32_t(uint32_t(seed)), 0};
    return as_literal(tensor_from_host({DType::i32, {2}, {}}, words, host_device));
}

// A seed is a number of f32.
Tensor state_of(const Site& site) {
    if (!site.attributes.has("seed")) return state_of_seed(own_seed(site));
    return state_of_seed(std::bit_cast<uint32_t>(float(site.attributes.number("seed", 0))));
}

DType result_dtype(const Site& site, DType otherwise) {
    if (!site.attributes.has("dtype")) return otherwise;
    auto number = int(site.attributes.integer("dtype", 1));
    auto dtype = dtype_of(number);
    if (!dtype) unsupported("random numbers of dtype ", name_of_data_type(number));
    return *dtype;
}

// The shape of an attribute, or that of x.
struct Target {
    IntList fixed;
    Tensor computed;
};
Target target_like(const Tensor& x) {
    if (!rank_of(x)) return {};
    return {{}, extents_of(x, 0, rank_of(x))};
}
Target target_in(const Site& site) {
    auto shape = site.attributes.integers("shape");
    if (!shape) invalid("it has no shape");
    return {*shape, {}};
}

Tensor drawn_between(const Tensor& state, const Target& target, double low, double high) {
    ops::Uniform::Params p{.shape = target.fixed, .low = low, .high = high};
    return target.computed ? ops::uniform(state, target.computed, p) : ops::uniform(state, p);
}

Tensors uniform(const Site& site, const Target& target, DType dtype) {
    double low = site.attributes.number("low", 0), high = site.attributes.number("high", 1);
    return {as_dtype(drawn_between(state_of(site), target, low, high), dtype)};
}

Tensors normal(const Site& site, const Target& target, DType dtype) {
    ops::Normal::Params p{.shape = target.fixed,
                          .mean = site.attributes.number("mean", 0),
                          .std = site.attributes.number("scale", 1)};
    Tensor state = state_of(site);
    Tensor y = target.computed ? ops::normal(state, target.computed, p) : ops::normal(state, p);
    return {as_dtype(y, dtype)};
}

Tensors import_random_uniform(const Site& site) {
    return uniform(site, target_in(site), result_dtype(site, DType::f32));
}
Tensors import_random_uniform_like(const Site& site) {
    return uniform(site, target_like(site.in(0)), result_dtype(site, site.in(0).dtype()));
}
Tensors import_random_normal(const Site& site) {
    return normal(site, target_in(site), result_dtype(site, DType::f32));
}
Tensors import_random_normal_like(const Site& site) {
    return normal(site, target_like(site.in(0)), result_dtype(site, site.in(0).dtype()));
}

// 1 with the probability that x has there.
Tensors import_bernoulli(const Site& site) {
    const Tensor& x = site.in(0);
    Tensor drawn = drawn_between(state_of(site), target_like(x), 0, 1);
    return {as_dtype(ops::less(drawn, as_dtype(x, DType::f32)), result_dtype(site, x.dtype()))};
}

// Weights are logarithms.
Tensors import_multinomial(const Site& site) {
    Tensor weights = ops::softmax(as_dtype(site.in(0), DType::f32), {.axis = -1});
    int64_t draws = site.attributes.integer("sample_size", 1);
    Tensor drawn = ops::multinomial(state_of(site), weights, {.num_samples = draws, .replacement = true});
    return {as_dtype(drawn, result_dtype(site, DType::i32))};
}

bool is_known_inference(const Site& site) {
    if (!site.has(2)) return true;
    auto training = site.find_values(2);
    if (training && training->size() != 1)
        invalid("its training mode has ", training->size(), " values, expected one");
    return training && !(*training)[0];
}

// The mask is true everywhere, before version 10 a number.
Tensors undropped(const Site& site) {
    const Tensor& x = site.in(0);
    if (!site.makes(1)) return {x};
    Tensor is_same = ops::logical_or(ops::equal(x, x), ops::isnan(x));
    return {x, site.opset < 10 ? as_dtype(is_same, x.dtype()) : is_same};
}

// In training a share of the elements becomes 0, and the others are scaled up.
Tensors import_dropout(const Site& site) {
    double stated = site.attributes.number("ratio", 0.5);
    uint64_t seed = site.attributes.has("seed") ? uint64_t(site.attributes.value("seed", 0)) : own_seed(site);
    site.attributes.integer("is_test", 0);
    site.attributes.integers("consumed_inputs");
    if (is_known_inference(site)) return undropped(site);
    const Tensor& x = site.in(0);
    Tensor ratio = site.has(1) ? as_wide(as_scalar(site.in(1))) : real(stated);
    Tensor drawn = drawn_between(state_of_seed(seed), target_like(x), 0, 1);
    Tensor is_inference = ops::logical_not(as_scalar(site.in(2)));
    Tensor is_kept = ops::logical_or(ops::greater_equal(drawn, ratio), is_inference);
    Tensor kept_part = ops::where(is_inference, real(1), ops::sub(real(1), ratio));
    Tensor y = ops::div(as_wide(x), kept_part);
    return {ops::where(is_kept, as_dtype(y, x.dtype()), number(x, 0)), is_kept};
}

}  // namespace

ImportRows random_rows() {
    static constexpr ImportRow rows[] = {
        {"Bernoulli", import_bernoulli, 15},
        {"Dropout", import_dropout},
        {"Multinomial", import_multinomial, 7},
        {"RandomNormal", import_random_normal},
        {"RandomNormalLike", import_random_normal_like},
        {"RandomUniform", import_random_uniform},
        {"RandomUniformLike", import_random_uniform_like},
    };
    return rows;
}

}  // namespace mge::onnx
