// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/network_steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "libmge/mge.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "libmge/ops/quantize/convolution/quantized_conv2d.h"
#include "libmge/ops/shape/layout/take_channels.h"

namespace mge::fuzz {
namespace {

constexpr int64_t most_elements = 2048;
// Values that may be larger are limited before they are multiplied by others.
constexpr double largest_bound = 300, limit = 2;
Tensor filled(const Shape& shape, float value) {
    std::vector<float> values(size_t(shape.numel()), value);
    return tensor_from_host({DType::f32, shape, {}}, values.data());
}

Tensor f32_scalar(float value) { return filled({}, value); }

[[noreturn]] void refuse() { throw_user("network", "no value fits", ErrorClass::value); }

double largest_of(const Tensor& x) {
    double result = 0;
    if (x.dtype() == DType::f32)
        for (int64_t i = 0; i < x.spec().numel(); ++i)
            if (double size = std::abs(x.data<float>()[i]); std::isfinite(size))
                result = std::max(result, size);
    return result;
}

}  // namespace

Tensor random_numbers(const Shape& shape, unsigned seed) {
    Random random(seed);
    std::vector<float> values(size_t(shape.numel()));
    for (auto& v : values) v = float(int(random.below(9)) - 4) / 4;
    return tensor_from_host({DType::f32, shape, {}}, values.data());
}

NetworkSteps::NetworkSteps(Bytes genes, const Tensors& inputs, std::vector<bool>& refused, bool is_symbolic)
    : genes_(genes), choices_(genes), refused_(refused), is_symbolic_(is_symbolic) {
    for (auto& x : inputs) values_.push_back({x, 1});
    if (is_symbolic) refused.assign(count(), false);
}

size_t NetworkSteps::count() const {
    return std::min(most_network_steps, (genes_.size() + network_step - 1) / network_step);
}

void NetworkSteps::apply(size_t step) {
    if (refused_[step]) return;
    step_ = step;
    constants_ = 0;
    Bytes rest = genes_.subspan(step * network_step);
    choices_ = Choices(rest.first(std::min(rest.size(), network_step)));
    const size_t before = values_.size();
    try {
        (this->*choices_.pick(steps()))();
    } catch (const UserError&) {
        if (!is_symbolic_) throw;
        refused_[step] = true;
        values_.resize(before, values_[0]);
    }
}

void NetworkSteps::push(const Tensor& x, double bound, bool is_exact) {
    if (x.spec().numel() > most_elements) refuse();
    if (!is_symbolic_) largest_ = std::max(largest_, largest_of(x));
    values_.push_back({x, bound, is_exact});
}

NetworkSteps::Value NetworkSteps::pick() {
    size_t choice = choices_.below(256);
    return choice % 2 ? values_[choice / 2 % values_.size()] : values_.back();
}

NetworkSteps::Value NetworkSteps::image() {
    Value picked = pick();
    if (picked.tensor.shape().rank() == 4) return picked;
    for (auto value = values_.rbegin(); value != values_.rend(); ++value)
        if (value->tensor.shape().rank() == 4) return *value;
    refuse();
}

NetworkSteps::Value NetworkSteps::fitting(const Value& value, int axis) {
    auto& shape = value.tensor.shape();
    size_t start = choices_.below(256);
    for (size_t i = 0; i < values_.size(); ++i) {
        auto& other = values_[(start + i) % values_.size()];
        Shape wanted = other.tensor.shape();
        if (wanted.rank() != shape.rank()) continue;
        if (axis >= 0 && axis < shape.rank()) wanted[axis] = shape[axis];
        if (wanted == shape) return other;
    }
    return value;
}

NetworkSteps::Value NetworkSteps::limited(const Value& value) const {
    if (value.bound <= largest_bound) return value;
    return {ops::clip(value.tensor, {.lower = -limit, .upper = limit}), limit, value.is_exact};
}

int NetworkSteps::axis_of(const Tensor& x) {
    return int(choices_.below(size_t(std::max(1, x.shape().rank()))));
}

Tensor NetworkSteps::numbers(const Shape& shape) {
    return random_numbers(shape, unsigned(step_ * 16 + constants_++ + 100));
}

// No ratio of two is a simple fraction.
float NetworkSteps::scale() const { return 0.21f * std::pow(1.1173f, float(step_)); }

void NetworkSteps::convolve() {
    Value x = limited(image());
    constexpr int64_t counts[] = {4, 2, 8, 3, 16, 1, 6};
    int64_t channels = x.tensor.shape()[1], made = choices_.pick(counts), groups = 1;
    ops::Conv2d::Params how;
    Shape weight{made, channels, 1, 1};
    if (size_t kind = choices_.below(4); kind == 1 && channels > 1) {
        groups = channels;  // depthwise
        weight = {groups, 1, 1, 1, 1};
        made = channels;
    } else if (kind == 2 && channels % 2 == 0) {
        groups = 2;
        made += made % 2;
        weight = {2, made / 2, channels / 2, 1, 1};
    }
    size_t window = choices_.below(16);
    weight[weight.rank() - 2] = 1 + int64_t(window % 4 % 3);
    weight[weight.rank() - 1] = window < 4 ? weight[weight.rank() - 2] : 1 + int64_t(window / 4 % 3);
    size_t steps = choices_.below(16);
    how.stride = {1 + int64_t(steps % 2), steps < 8 ? 1 + int64_t(steps % 2) : 1};
    how.padding = {int64_t(steps / 2 % 2), int64_t(steps / 4 % 2)};
    if (choices_.one_in(8)) how.dilation = {2, 1};
    how.groups = groups;
    constexpr Activation activations[] = {Activation::none, Activation::none, Activation::none,
                                          Activation::relu, Activation::relu6};
    how.activation = choices_.pick(activations);
    Tensor bias;
    if (choices_.one_in(2)) bias = numbers({1, made, 1, 1});
    Tensor y = ops::conv2d(x.tensor, numbers(weight), bias, Tensor{}, how);
    double products = double(weight.numel()) / double(made);
    push(y, x.bound * products + 1, x.is_exact);
}

// quantize, convolve steps, dequantize.
void NetworkSteps::convolve_steps() {
    Value x = limited(image());
    if (!x.is_exact) refuse();
    has_steps_ = true;
    int64_t channels = x.tensor.shape()[1];
    ops::QuantizedConv2d::Params how;
    const DType dtype = choices_.one_in(2) ? DType::u8 : DType::i8;
    how.dtype = dtype;
    if (choices_.one_in(2)) how.padding = {1, 1};
    if (choices_.one_in(3)) how.activation = Activation::relu;
    Shape weight{4, channels, 1, 1};
    if (choices_.one_in(3) && channels > 1) {
        how.groups = channels;
        weight = {channels, 1, 1, 3, 3};
    }
    Tensor steps = ops::quantize(x.tensor, f32_scalar(scale()), Tensor{}, {.dtype = dtype});
    Tensor w = ops::quantize(numbers(weight), f32_scalar(0.25f), Tensor{}, {.dtype = DType::i8});
    Tensor y_scale = f32_scalar(scale() * 1.37f), none;
    Tensor y =
        ops::quantized_conv2d({steps, w, f32_scalar(scale() * 0.25f), none, none, none, none, y_scale}, how);
    push(ops::dequantize(y, y_scale), 256 * scale() * 1.37f);
}

void NetworkSteps::normalise_channels() {
    Value x = limited(image());
    Shape one{1, x.tensor.shape()[1], 1, 1};
    Tensor y = ops::batch_norm(x.tensor, numbers(one), numbers(one), numbers(one), filled(one, 0.75f),
                               {.training = false})[0];
    push(choices_.one_in(2) ? ops::relu(y) : y, 2 * x.bound + 3, false);
}

void NetworkSteps::scale_channels() {
    Value x = limited(image());
    Shape one{1, x.tensor.shape()[1], 1, 1};
    if (choices_.one_in(3)) one[1] = 1;
    if (choices_.one_in(3)) one = {one[1], 1, 1};
    Tensor y = x.tensor;
    double bound = x.bound;
    size_t which = choices_.below(3);
    if (which != 1) y = ops::mul(y, numbers(one));
    if (which != 0)
        y = choices_.one_in(2) ? ops::add(numbers(one), y) : ops::add(y, numbers(one)), bound += 1;
    push(y, bound, x.is_exact);
}

void NetworkSteps::activate() {
    Value x = pick();
    const Tensor& t = x.tensor;
    switch (choices_.below(12)) {
        case 0:
        case 1:
            return push_like(x, ops::relu(t));
        case 2:
            return push(ops::clip(t, {.lower = -0.5, .upper = 1.5}), 1.5, x.is_exact);
        case 3:
            return push_like(x, ops::neg(t));
        case 4:
            return push_like(x, ops::abs(t));
        case 5:
            return push(ops::tanh(t), 1, false);
        case 6:
            return push(ops::sigmoid(t), 1, false);
        case 7:
            return push(ops::relu6(t), 6, x.is_exact);
        case 8:
            return push(ops::leaky_relu(t, {.slope = 0.25}), x.bound, x.is_exact);
        case 9:
            return push(ops::hswish(t), x.bound, false);
        case 10:
            return push(ops::gelu(t), x.bound, false);
        default:
            return push(ops::square(limited(x).tensor), largest_bound * largest_bound, x.is_exact);
    }
}

// Formulas that passes recognise.
void NetworkSteps::apply_formula() {
    Value x = limited(pick());
    const Tensor& t = x.tensor;
    int axis = axis_of(t);
    auto scalar = [](float value) { return filled({1}, value); };
    switch (choices_.below(8)) {
        case 0:
            return push(ops::mul(t, ops::sigmoid(t)), x.bound, false);
        case 1:
            return push(ops::mul(ops::mul(t, scalar(0.5f)),
                                 ops::add(ops::erf(ops::mul(t, scalar(0.70710678f))), scalar(1))),
                        x.bound, false);
        case 2:
            return push(ops::div(ops::mul(t, ops::relu6(ops::add(t, scalar(3)))), scalar(6)), x.bound, false);
        case 3: {
            if (t.spec().numel() == 0) refuse();
            Tensor e = ops::exp(ops::sub(t, ops::max(t, {.axes = {axis}, .keepdims = true})));
            return push(ops::div(e, ops::sum(e, {.axes = {axis}, .keepdims = true})), 1, false);
        }
        case 4: {
            if (t.spec().numel() == 0) refuse();
            Tensor centred = ops::sub(t, ops::mean(t, {.axes = {-1}, .keepdims = true}));
            Tensor variance = ops::mean(ops::square(centred), {.axes = {-1}, .keepdims = true});
            return push(ops::div(centred, ops::sqrt(ops::add(variance, scalar(1)))), 50, false);
        }
        case 5: {
            Tensor y = ops::clip(t, {.lower = -3, .upper = 3});
            return push(ops::log(ops::add(ops::exp(y), ops::exp(ops::neg(y)))), 7, false);
        }
        case 6:
            return push(ops::mul(t, ops::tanh(ops::softplus(t))), x.bound, false);
        default:
            return push(ops::mul(ops::relu(ops::add(t, scalar(0.25f))), scalar(0.5f)), x.bound + 1,
                        x.is_exact);
    }
}

void NetworkSteps::apply_neutral() {
    Value x = pick();
    const Tensor& t = x.tensor;
    const Shape one = choices_.one_in(3) ? t.shape() : Shape{1};
    switch (choices_.below(7)) {
        case 0:
            return push_like(x, ops::add(t, filled(one, 0)));
        case 1:
            return push_like(x, ops::mul(filled(one, 1), t));
        case 2:
            return push_like(x, ops::neg(ops::neg(t)));
        case 3:
            return push_like(x, ops::sub(t, filled(one, 0)));
        case 4:
            return push_like(x, ops::div(t, filled(one, 1)));
        case 5:
            return push_like(x, ops::copy(t));
        default:
            return push(ops::log(ops::exp(ops::clip(t, {.lower = -3, .upper = 3}))), 3, false);
    }
}

void NetworkSteps::combine() {
    Value a = pick(), b = choices_.one_in(4) ? pick() : fitting(a, int(choices_.below(6)) - 1);
    bool is_exact = a.is_exact && b.is_exact;
    switch (choices_.below(6)) {
        case 0:
        case 1:
            return push(ops::add(a.tensor, b.tensor), a.bound + b.bound, is_exact);
        case 2:
            return push(ops::sub(a.tensor, b.tensor), a.bound + b.bound, is_exact);
        case 3:
            a = limited(a), b = limited(b);
            return push(ops::mul(a.tensor, b.tensor), a.bound * b.bound, is_exact);
        case 4:
            return push(ops::maximum(a.tensor, b.tensor), std::max(a.bound, b.bound), is_exact);
        default:
            return push(ops::relu(ops::add(b.tensor, a.tensor)), a.bound + b.bound, is_exact);
    }
}

void NetworkSteps::combine_constant() {
    Value x = limited(pick());
    Shape shape = x.tensor.shape();
    for (int i = 0; i < shape.rank(); ++i)
        if (choices_.one_in(2)) shape[i] = 1;
    if (choices_.one_in(2)) return push(ops::mul(x.tensor, numbers(shape)), x.bound, x.is_exact);
    push(ops::add(numbers(shape), x.tensor), x.bound + 1, x.is_exact);
}

}  // namespace mge::fuzz
