// SPDX-License-Identifier: Apache-2.0
// The steps that move, join, cut and reduce, and products.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "libmge/mge.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "libmge/ops/shape/layout/take_channels.h"
#include "tests/fuzz/network_steps.h"

namespace mge::fuzz {
namespace {

constexpr int64_t left_out = std::numeric_limits<int64_t>::min();

IntList dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

[[noreturn]] void refuse() { throw_user("network", "the shape does not fit", ErrorClass::value); }

// Extents with the product, by the choices.
IntList factors(int64_t elements, Choices& choices) {
    IntList result;
    for (size_t rank = choices.below(5); rank > 0 && elements > 1; --rank) {
        constexpr int64_t wanted[] = {2, 3, 4, 1, 5};
        int64_t extent = choices.pick(wanted);
        if (elements % extent) extent = 1;
        result.push_back(extent);
        elements /= extent;
    }
    result.insert(result.begin() + std::ptrdiff_t(choices.below(result.size() + 1)), elements);
    return result;
}

IntList permutation(int rank, Choices& choices) {
    IntList left(size_t(rank), 0), result;
    std::iota(left.begin(), left.end(), 0);
    while (!left.empty()) {
        auto at = left.begin() + std::ptrdiff_t(choices.below(left.size()));
        result.push_back(*at);
        left.erase(at);
    }
    return result;
}

}  // namespace

void NetworkSteps::reshape() {
    Value x = pick();
    auto& shape = x.tensor.shape();
    IntList wanted = dims_of(shape);
    switch (choices_.below(5)) {
        case 0:
            wanted = factors(shape.numel(), choices_);
            break;
        case 1: {  // divides an axis
            if (wanted.empty()) refuse();
            auto at = wanted.begin() + axis_of(x.tensor);
            int64_t factor = 2 + int64_t(choices_.below(2));
            if (*at % factor) refuse();
            *at /= factor;
            wanted.insert(at + std::ptrdiff_t(choices_.below(2)), factor);
            break;
        }
        case 2: {  // joins two
            if (wanted.size() < 2) refuse();
            size_t at = choices_.below(wanted.size() - 1);
            wanted[at] *= wanted[at + 1];
            wanted.erase(wanted.begin() + std::ptrdiff_t(at) + 1);
            break;
        }
        case 3:  // as an image
            if (wanted.size() < 3) refuse();
            while (wanted.size() > 4) {
                wanted[1] *= wanted[2];
                wanted.erase(wanted.begin() + 2);
            }
            if (wanted.size() == 3) wanted.push_back(1);
            break;
        default: {
            Value other = pick();
            return push_like(x, ops::reshape_like(x.tensor, other.tensor));
        }
    }
    push_like(x, ops::reshape(x.tensor, {.shape = wanted}));
}

void NetworkSteps::flatten() {
    Value x = pick();
    int start = axis_of(x.tensor), end = choices_.one_in(2) ? -1 : axis_of(x.tensor);
    if (end >= 0 && end < start) std::swap(start, end);
    push_like(x, ops::flatten(x.tensor, {.start = start, .end = end}));
}

void NetworkSteps::change_axes() {
    Value x = pick();
    if (choices_.one_in(2)) {
        auto& shape = x.tensor.shape();
        for (int i = 0; i < shape.rank(); ++i)
            if (shape[i] == 1) return push_like(x, ops::remove_axis(x.tensor, {.axes = {i}}));
    }
    if (x.tensor.shape().rank() > 5) refuse();
    push_like(x, ops::add_axis(x.tensor, {.axes = {axis_of(x.tensor)}}));
}

void NetworkSteps::transpose() {
    Value x = pick();
    int rank = x.tensor.shape().rank();
    IntList pattern(size_t(rank), 0);
    std::iota(pattern.begin(), pattern.end(), 0);
    size_t kind = choices_.below(4);
    if (kind == 1 && rank > 1)  // channels change places with the pixels
        std::rotate(pattern.begin() + 1, pattern.begin() + 2 - (rank == 2), pattern.end());
    else if (kind == 2 && rank > 2)
        std::swap(pattern[1], pattern[2]);
    else if (kind == 3 && rank > 1)
        std::rotate(pattern.begin() + 1, pattern.end() - 1, pattern.end());
    else
        pattern = permutation(rank, choices_);
    push_like(x, ops::transpose(x.tensor, {.pattern = pattern}));
}

void NetworkSteps::concat() {
    Value x = pick();
    int axis = choices_.one_in(2) && x.tensor.shape().rank() > 1 ? 1 : axis_of(x.tensor);
    Tensors joined{x.tensor};
    Value all = x;
    for (size_t more = 1 + choices_.below(2); more > 0; --more) {
        Value other = fitting(x, axis);
        all = {x.tensor, std::max(all.bound, other.bound), all.is_exact && other.is_exact};
        joined.insert(choices_.one_in(2) ? joined.begin() : joined.end(), other.tensor);
    }
    push_like(all, ops::concat(joined, {.axis = axis}));
}

void NetworkSteps::split() {
    Value x = pick();
    int axis = choices_.one_in(2) && x.tensor.shape().rank() > 1 ? 1 : axis_of(x.tensor);
    if (x.tensor.shape().rank() == 0) refuse();
    int64_t extent = x.tensor.shape()[axis], first = int64_t(choices_.below(size_t(extent) + 1));
    IntList sizes{first, extent - first};
    if (choices_.one_in(3) && extent % 2 == 0) sizes = {extent / 2, extent / 2};
    if (choices_.one_in(4) && extent > 2) sizes = {1, extent - 2, 1};
    for (auto& part : ops::split(x.tensor, {.axis = axis, .sizes = sizes})) push_like(x, part);
}

void NetworkSteps::slice() {
    Value x = pick();
    IntList items;
    auto& shape = x.tensor.shape();
    for (int i = 0; i < shape.rank() && items.size() < 10; ++i) {
        if (!choices_.one_in(2)) continue;
        int64_t extent = shape[i], begin = int64_t(choices_.below(size_t(extent) + 1));
        switch (choices_.below(6)) {
            case 0:
            case 1:
                items.insert(items.end(), {i, begin, left_out, 1, 0});
                break;
            case 2:
                items.insert(items.end(), {i, left_out, extent - begin, 1, 0});
                break;
            case 3:
                items.insert(items.end(), {i, left_out, left_out, -1, 0});
                break;
            case 4:
                items.insert(items.end(), {i, begin % 2, left_out, 2, 0});
                break;
            default:
                items.insert(items.end(), {i, begin - 1, 0, 1, 1});
        }
    }
    push_like(x, ops::slice({x.tensor}, {.items = items}));
}

void NetworkSteps::flip() {
    Value x = pick();
    push_like(x, ops::flip(x.tensor, {.axes = {axis_of(x.tensor)}}));
}

void NetworkSteps::pad() {
    Value x = pick();
    ops::Pad::Params how;
    constexpr ops::PadMode modes[] = {ops::PadMode::constant, ops::PadMode::reflect, ops::PadMode::replicate};
    how.mode = choices_.pick(modes);
    how.value = choices_.one_in(3) ? 1 : 0;
    for (int i = 0; i < x.tensor.shape().rank(); ++i) {
        size_t margins = choices_.below(8);
        how.before.push_back(int64_t(margins % 2));
        how.after.push_back(int64_t(margins / 4));
    }
    push(ops::pad(x.tensor, how), x.bound + 1, x.is_exact);
}

void NetworkSteps::reduce() {
    Value x = pick();
    // The mean of nothing is NaN, for which fusions promise nothing.
    if (x.tensor.spec().numel() == 0) refuse();
    ops::ReduceParams how;
    how.keepdims = choices_.one_in(2);
    for (int i = 0; i < x.tensor.shape().rank(); ++i)
        if (choices_.one_in(2)) how.axes.push_back(i);
    double count = double(x.tensor.spec().numel());
    switch (choices_.below(5)) {
        case 0:
            return push(ops::sum(x.tensor, how), x.bound * count, x.is_exact);
        case 1:
            return push_like(x, ops::max(x.tensor, how));
        case 2:
            return push_like(x, ops::min(x.tensor, how));
        case 3:
            return push(ops::mean(ops::mean(x.tensor, {.axes = {-1}, .keepdims = true}),
                                  {.axes = how.axes, .keepdims = how.keepdims}),
                        x.bound, false);
        default:
            return push(ops::mean(x.tensor, how), x.bound, false);
    }
}

void NetworkSteps::normalise() {
    Value x = limited(pick());
    if (x.tensor.spec().numel() == 0 || x.tensor.shape().rank() == 0) refuse();
    if (choices_.one_in(2)) return push(ops::softmax(x.tensor, {.axis = axis_of(x.tensor)}), 1, false);
    Shape row{x.tensor.shape()[x.tensor.shape().rank() - 1]};
    push(ops::layer_norm(x.tensor, numbers(row), numbers(row), {.epsilon = 1})[0], 50, false);
}

void NetworkSteps::multiply_constant() {
    Value x = limited(pick());
    auto& shape = x.tensor.shape();
    if (shape.rank() == 0) refuse();
    int64_t depth = shape[shape.rank() - 1], columns = 1 + int64_t(choices_.below(8));
    ops::Matmul::Params how;
    how.transpose_b = choices_.one_in(2);
    how.activation = choices_.one_in(4) ? Activation::relu : Activation::none;
    Tensor bias;
    if (choices_.one_in(3)) bias = numbers({columns});
    Tensor weight = numbers(how.transpose_b ? Shape{columns, depth} : Shape{depth, columns});
    Tensor y = ops::matmul(x.tensor, weight, bias, Tensor{}, how);
    if (choices_.one_in(3)) y = ops::add(y, numbers({columns}));
    push(y, x.bound * double(depth) + 2, x.is_exact);
}

void NetworkSteps::multiply() {
    Value a = limited(pick()), b = limited(choices_.one_in(2) ? a : pick());
    if (a.tensor.shape().rank() == 0 || b.tensor.shape().rank() == 0) refuse();
    ops::Matmul::Params how{.transpose_a = choices_.one_in(3), .transpose_b = choices_.one_in(2)};
    Tensor y = ops::matmul(a.tensor, b.tensor, Tensor{}, Tensor{}, how);
    double depth = double(a.tensor.spec().numel());
    push(y, a.bound * b.bound * depth, a.is_exact && b.is_exact);
}

void NetworkSteps::attend() {
    Value x = limited(pick());
    int rank = x.tensor.shape().rank();
    if (rank < 2 || x.tensor.spec().numel() == 0) refuse();
    int64_t depth = x.tensor.shape()[rank - 1];
    auto projected = [&] { return ops::matmul(x.tensor, numbers({depth, 4})); };
    Tensor q = projected(), k = projected(), v = choices_.one_in(2) ? projected() : x.tensor;
    if (choices_.one_in(2)) {  // heads
        IntList dims = dims_of(x.tensor.shape());
        dims.back() = 2;
        dims.insert(dims.end(), 2);
        if (dims.size() != 4) refuse();
        auto divided = [&](const Tensor& t) {
            return ops::transpose(ops::reshape(t, {.shape = dims}), {.pattern = {0, 2, 1, 3}});
        };
        q = divided(q), k = divided(k), v = divided(projected());
    }
    Tensor scores = ops::matmul(q, k, Tensor{}, Tensor{}, {.transpose_b = true});
    if (choices_.one_in(2)) scores = ops::mul(scores, random_numbers({1}, unsigned(step_)));
    if (choices_.one_in(3)) {
        auto& shape = scores.shape();
        scores = ops::add(scores, numbers({shape[shape.rank() - 2], shape[shape.rank() - 1]}));
    }
    push(ops::matmul(ops::softmax(scores), v), x.bound * double(depth), false);
}

void NetworkSteps::pool() {
    Value x = limited(image());
    if (x.tensor.spec().numel() == 0) refuse();
    int64_t size = 1 + int64_t(choices_.below(3)), stride = 1 + int64_t(choices_.below(2));
    if (choices_.one_in(2))
        return push_like(x, ops::max_pool2d(x.tensor, {.kernel = {size, size}, .stride = {stride, stride}}));
    push(ops::avg_pool2d(x.tensor, {.kernel = {size, size}, .stride = {stride, stride}}), x.bound, false);
}

// dequantize(quantize(x)), moved, joined, and quantised alike again.
void NetworkSteps::move_steps() {
    Value x = limited(pick());
    if (!x.is_exact) refuse();
    has_steps_ = true;
    const DType dtype = choices_.one_in(2) ? DType::u8 : DType::i8;
    Tensor size = tensor_from_host({DType::f32, {}, {}}, std::array{scale()}.data());
    auto stepped = [&](const Tensor& t) {
        return ops::dequantize(ops::quantize(t, size, Tensor{}, {.dtype = dtype}), size, Tensor{});
    };
    Tensor y = stepped(x.tensor);
    push(y, 256 * scale());
    int axis = axis_of(y), rank = y.shape().rank();
    switch (choices_.below(5)) {
        case 0:
            y = ops::transpose(y, {.pattern = permutation(rank, choices_)});
            break;
        case 1:
            y = ops::concat({y, stepped(fitting(x, axis).tensor)}, {.axis = axis});
            break;
        case 2:
            y = ops::relu(y);
            break;
        case 3:
            y = ops::flatten(y, {.start = axis});
            break;
        default:
            y = ops::reshape(y, {.shape = factors(y.spec().numel(), choices_)});
    }
    push(choices_.one_in(4) ? y : stepped(y), 256 * scale());
}

void NetworkSteps::broadcast() {
    Value x = pick();
    if (choices_.one_in(2)) return push_like(x, ops::broadcast_like(x.tensor, pick().tensor));
    IntList shape = dims_of(x.tensor.shape());
    for (auto& extent : shape)
        if (extent == 1 && choices_.one_in(2)) extent = 3;
    if (choices_.one_in(3)) shape.insert(shape.begin(), 2);
    push_like(x, ops::broadcast_to(x.tensor, {.shape = shape}));
}

// Shuffles channels, as ShuffleNet does.
void NetworkSteps::shuffle() {
    Value x = image();
    IntList dims = dims_of(x.tensor.shape());
    int64_t groups = choices_.one_in(3) ? 3 : 2;
    if (dims[1] % groups) refuse();
    Tensor y = ops::reshape(x.tensor, {.shape = {dims[0], groups, dims[1] / groups, dims[2], dims[3]}});
    y = ops::transpose(y, {.pattern = {0, 2, 1, 3, 4}});
    y = ops::reshape(y, {.shape = dims});
    push_like(x, y);
    if (choices_.one_in(2) && dims[1] % 2 == 0)
        for (auto& half : ops::split(y, {.axis = 1, .sizes = {dims[1] / 2, dims[1] / 2}})) push_like(x, half);
}

void NetworkSteps::take_channels() {
    Value x = image();
    int64_t count = x.tensor.shape()[1];
    if (count == 0) refuse();
    IntList channels;
    for (size_t n = 1 + choices_.below(6); n > 0; --n)
        channels.push_back(int64_t(choices_.below(size_t(count))));
    push_like(x, ops::take_channels({x.tensor}, {.channels = channels}));
}

// The heads of a detector: pixels of several images in one row.
void NetworkSteps::join_pixels() {
    Value x = image(), y = image();
    if (x.tensor.shape()[1] != y.tensor.shape()[1])
        y = {ops::conv2d(limited(x).tensor, numbers({x.tensor.shape()[1], x.tensor.shape()[1], 1, 1}),
                         Tensor{}, Tensor{}, {.stride = {2, 2}}),
             x.bound * double(x.tensor.shape()[1]), x.is_exact};
    Tensor rows = ops::concat({ops::flatten(x.tensor, {.start = 2}), ops::flatten(y.tensor, {.start = 2})},
                              {.axis = choices_.one_in(4) ? 1 : 2});
    Value joined{rows, std::max(x.bound, y.bound), x.is_exact && y.is_exact};
    push_like(joined, choices_.one_in(3) ? rows : ops::transpose(rows, {.pattern = {0, 2, 1}}));
}

// Depth to space.
void NetworkSteps::spread_channels() {
    Value x = image();
    IntList d = dims_of(x.tensor.shape());
    if (d[1] % 4) refuse();
    Tensor y = ops::reshape(x.tensor, {.shape = {d[0], d[1] / 4, 2, 2, d[2], d[3]}});
    y = ops::transpose(y, {.pattern = {0, 1, 4, 2, 5, 3}});
    push_like(x, ops::reshape(y, {.shape = {d[0], d[1] / 4, d[2] * 2, d[3] * 2}}));
}

void NetworkSteps::repeat() {
    Value x = pick();
    if (x.tensor.shape().rank() == 0) refuse();
    auto once = [&] { return ops::concat({ops::relu(x.tensor), x.tensor}, {.axis = -1}); };
    Tensor a = once(), b = once();
    push_like(x, a);
    push(ops::add(a, b), 2 * x.bound, x.is_exact);
}

void NetworkSteps::add_constant() {
    Value x = pick();
    push(numbers(x.tensor.shape()), 1);
}

void NetworkSteps::convert_to_half() {
    Value x = pick();
    has_halves_ = true;
    push(ops::convert(ops::convert(x.tensor, {.dtype = DType::f16}), {.dtype = DType::f32}), x.bound, false);
}

std::span<const NetworkSteps::Step> NetworkSteps::steps() {
    static constexpr Step all[] = {
        &NetworkSteps::convolve,
        &NetworkSteps::convolve,
        &NetworkSteps::convolve,
        &NetworkSteps::convolve_steps,
        &NetworkSteps::normalise_channels,
        &NetworkSteps::scale_channels,
        &NetworkSteps::activate,
        &NetworkSteps::activate,
        &NetworkSteps::apply_formula,
        &NetworkSteps::apply_neutral,
        &NetworkSteps::combine,
        &NetworkSteps::combine,
        &NetworkSteps::combine_constant,
        &NetworkSteps::reshape,
        &NetworkSteps::reshape,
        &NetworkSteps::flatten,
        &NetworkSteps::change_axes,
        &NetworkSteps::transpose,
        &NetworkSteps::transpose,
        &NetworkSteps::concat,
        &NetworkSteps::concat,
        &NetworkSteps::split,
        &NetworkSteps::slice,
        &NetworkSteps::flip,
        &NetworkSteps::pad,
        &NetworkSteps::reduce,
        &NetworkSteps::normalise,
        &NetworkSteps::multiply,
        &NetworkSteps::multiply_constant,
        &NetworkSteps::attend,
        &NetworkSteps::pool,
        &NetworkSteps::move_steps,
        &NetworkSteps::broadcast,
        &NetworkSteps::shuffle,
        &NetworkSteps::take_channels,
        &NetworkSteps::join_pixels,
        &NetworkSteps::spread_channels,
        &NetworkSteps::repeat,
        &NetworkSteps::add_constant,
        &NetworkSteps::convert_to_half,
    };
    return all;
}

}  // namespace mge::fuzz
