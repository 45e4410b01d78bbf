// SPDX-License-Identifier: Apache-2.0
// Fourier transforms, as products with the matrices of cosines and sines, and related operators.

#include <numbers>

#include "libmge/device/device.h"
#include "libmge/model/import/onnx/shapes/late_values.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/elementwise/trigonometric.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

constexpr double pi = std::numbers::pi;

// A size, i64 (1,).
Tensor as_extent(const Tensor& t) { return ops::reshape(as_dtype(t, DType::i64), {.shape = {1}}); }

// Complex numbers; an absent part is 0.
struct Complex {
    Tensor re, im;
};

// The cosines and sines of 2 pi k n / length: rows n, as many columns k. Full turns are removed first, and
// sines are computed only up to a quarter turn, so that exact zeros are exact.
Complex angles(const Tensor& rows, const Tensor& columns, const Tensor& length, DType dtype) {
    Tensor n = ops::add_axis(count_up(rows, DType::i64), {.axes = {1}}), two = whole(2);
    Tensor turns = ops::mod(ops::mul(n, count_up(columns, DType::i64)), length);
    // In half turns of `length` parts; the second half has a negative sine.
    Tensor way = ops::mul(turns, two), is_behind = ops::greater(way, length);
    way = ops::where(is_behind, ops::sub(ops::mul(length, two), way), way);
    // The distance to the quarter turn, below 0 behind it.
    Tensor quarter = ops::sub(length, ops::mul(way, two));
    Tensor short_way = ops::minimum(way, ops::sub(length, way));
    Tensor unit = ops::div(real(pi, dtype), as_dtype(length, dtype));
    Tensor cosine = ops::sin(ops::mul(as_dtype(quarter, dtype), ops::mul(unit, real(0.5, dtype))));
    Tensor sine = ops::sin(ops::mul(as_dtype(short_way, dtype), unit));
    return {cosine, ops::where(is_behind, ops::neg(sine), sine)};
}

// x e^(-i angle) summed over the last axis of x.
Complex transformed(const Complex& x, const Complex& matrix) {
    Tensor re = ops::matmul(x.re, matrix.re), im = ops::neg(ops::matmul(x.re, matrix.im));
    if (!x.im) return {re, im};
    return {ops::add(re, ops::matmul(x.im, matrix.im)), ops::add(im, ops::matmul(x.im, matrix.re))};
}

Tensor half_of(const Tensor& length) { return ops::add(ops::floor_div(length, whole(2)), whole(1)); }

// One half of the frequencies represents the other, too, except the first and, for an even number, the last.
Tensor real_of_half(const Complex& half, const Tensor& length) {
    Tensor count = half_of(length), k = count_up(count, DType::i64);
    Tensor is_alone = ops::logical_or(ops::equal(k, whole(0)), ops::equal(ops::mul(k, whole(2)), length));
    const DType dtype = half.re.dtype();
    Tensor weight = ops::where(is_alone, real(1, dtype), real(2, dtype));
    Complex matrix = angles(count, length, length, dtype);
    Tensor re = ops::matmul(ops::mul(half.re, weight), matrix.re);
    return half.im ? Tensor(ops::sub(re, ops::matmul(ops::mul(half.im, weight), matrix.im))) : re;
}

Tensor together(const Complex& x) {
    return ops::concat({ops::add_axis(x.re, {.axes = {-1}}), ops::add_axis(x.im, {.axes = {-1}})},
                       {.axis = -1});
}

struct Transform {
    bool is_inverse, is_onesided;
};

// Along the last axis, which has `length` elements of real and perhaps imaginary parts.
Tensor fourier(const Complex& x, const Tensor& length, const Transform& kind) {
    const DType dtype = x.re.dtype();
    Tensor scale = ops::div(real(1, dtype), as_dtype(length, dtype));
    if (kind.is_inverse && kind.is_onesided)
        return ops::add_axis(ops::mul(real_of_half(x, length), scale), {.axes = {-1}});
    Tensor columns = kind.is_onesided ? half_of(length) : length;
    Complex matrix = angles(length, columns, length, dtype);
    if (!kind.is_inverse) return together(transformed(x, matrix));
    Complex y = transformed(x, {matrix.re, ops::neg(matrix.im)});
    return together({ops::mul(y.re, scale), ops::mul(y.im, scale)});
}

// The number of parts in the last axis of x: real, or real and imaginary.
int64_t part_count(const Tensor& x) {
    auto parts = find_extent(x, rank_of(x) - 1);
    if (!parts || *parts < 1 || *parts > 2)
        invalid("the last axis of its input must have size 1 or 2 (real and imaginary part)");
    return *parts;
}

DType output_dtype(const Site& site) {
    auto to = int(site.attributes.integer("output_datatype", file::TensorProto::FLOAT));
    auto dtype = dtype_of(to);
    if (!dtype) unsupported("dtype ", name_of_data_type(to));
    return *dtype;
}

// a - b cos(2 pi n / N) + c cos(4 pi n / N), N being one less unless it is one period of many.
Tensors cosine_window(const Site& site, double a, double b, double c) {
    Tensor size = as_extent(site.in(0));
    Tensor period = site.attributes.integer("periodic", 1) ? size : Tensor(ops::sub(size, whole(1)));
    const DType made = output_dtype(site), dtype = wide(made);
    auto number = [&](double value) { return real(value, dtype); };
    Tensor turn = ops::mul(count_up(size, dtype), ops::div(number(2 * pi), as_dtype(period, dtype)));
    Tensor y = ops::sub(number(a), ops::mul(ops::cos(turn), number(b)));
    if (c != 0) y = ops::add(y, ops::mul(ops::cos(ops::mul(turn, number(2))), number(c)));
    return {as_dtype(y, made)};
}

// Mel is 2595 log10(1 + hertz / 700).
Tensor mel_of(const Tensor& hertz) {
    return ops::mul(ops::log1p(ops::div(hertz, real(700))), real(2595 / std::numbers::ln10));
}
Tensor hertz_of(const Tensor& mel) {
    return ops::mul(ops::expm1(ops::mul(mel, real(std::numbers::ln10 / 2595))), real(700));
}

// The axis is an attribute before version 20, an input since. The axes before and behind it become one each.
Tensors import_dft(const Site& site) {
    const Tensor& x = site.in(0);
    int last = rank_of(x) - 1;
    int64_t parts = part_count(x), named = site.opset < 20 ? site.attributes.integer("axis", 1) : -2;
    Tensor axis = vector_of({named});
    if (site.opset >= 20 && site.has(2)) axis = as_extent(site.in(2));
    axis = late_axes(axis, last + 1);
    Transform kind{bool(site.attributes.integer("inverse", 0)), bool(site.attributes.integer("onesided", 0))};
    Tensor extents = cut(extents_of(x, 0, last + 1), 0, 0, last), one = whole(1);
    Tensor number = count_up(int64_t(last), DType::i64);
    auto product = [&](const Tensor& counts) -> Tensor {
        return ops::prod(ops::where(counts, extents, one), {.axes = {0}, .keepdims = true});
    };
    Tensor have = ops::take({extents, as_index(axis)}, {.axes = {0}});
    Tensor before = product(ops::less(number, axis)), after = product(ops::greater(number, axis));
    Tensor rows = ops::reshape(x, ops::concat({before, have, after, vector_of({parts})}, {.axis = 0}));
    bool halves = kind.is_inverse && kind.is_onesided;
    Tensor own = halves ? Tensor(ops::mul(ops::sub(have, one), whole(2))) : have;
    Tensor length = site.has(1) ? as_extent(site.in(1)) : own;
    Tensor count = halves ? half_of(length) : length;
    auto part = [&](int64_t i) {
        Tensor t = ops::transpose(as_wide(element(rows, 3, i)), {.pattern = {0, 2, 1}});
        Stretch stretch{2, 0, have, 0, count};
        return site.has(1) ? stretch_of(t, stretch, Outside::value, real(0, t.dtype())) : t;
    };
    Tensor y = fourier({part(0), parts == 2 ? part(1) : Tensor()}, length, kind);
    Tensor made = kind.is_onesided && !kind.is_inverse ? half_of(length) : length;
    Tensor target =
        ops::concat({spread_over_axes(made, axis, extents), vector_of({halves ? 1 : 2})}, {.axis = 0});
    return {as_dtype(ops::reshape(ops::transpose(y, {.pattern = {0, 2, 1, 3}}), target), x.dtype())};
}

// Frames of the signal (B, length, parts), or of a real one (B, length), each transformed: (B, frames,
// frequencies, 2).
Tensors import_stft(const Site& site) {
    const Tensor& x = site.in(0);
    bool has_parts = rank_of(x) == 3;
    if (!has_parts && rank_of(x) != 2) invalid("its signal has rank ", rank_of(x), ", expected 2");
    Tensor step = as_extent(site.in(1)), window = site.optional(2);
    if (!window && !site.has(3)) invalid("it has neither a window nor a frame length");
    require_within(step, 1, beyond, "the frame step must be at least 1");
    if (site.has(3)) require_within(as_extent(site.in(3)), 1, beyond, "the frame length must be at least 1");
    Tensor length = site.has(3) ? as_extent(site.in(3)) : std::get<Tensor>(extent_of(window, 0));
    Tensor last_start = ops::sub(std::get<Tensor>(extent_of(x, 1)), length);
    Tensor frames = ops::add(ops::floor_div(last_start, step), whole(1));
    Tensor first = as_column(ops::mul(count_up(frames, DType::i64), step), 1);
    Tensor place = as_index(ops::add(first, count_up(length, DType::i64)));
    int64_t parts = has_parts ? part_count(x) : 1;
    auto part = [&](int64_t i) -> Tensor {
        Tensor taken = ops::take({as_wide(has_parts ? element(x, 2, i) : x), place}, {.axes = {1}});
        return window ? Tensor(ops::mul(taken, as_dtype(window, taken.dtype()))) : taken;
    };
    Transform kind{false, bool(site.attributes.integer("onesided", 1))};
    Complex framed{part(0), parts == 2 ? part(1) : Tensor()};
    return {as_dtype(fourier(framed, length, kind), x.dtype())};
}

Tensors import_hann_window(const Site& site) { return cosine_window(site, 0.5, 0.5, 0); }
Tensors import_hamming_window(const Site& site) { return cosine_window(site, 25.0 / 46, 21.0 / 46, 0); }
Tensors import_blackman_window(const Site& site) { return cosine_window(site, 0.42, 0.5, 0.08); }

// Triangles over the frequencies: each begins at the centre of the previous one and ends at that of the next.
Tensors import_mel_weight_matrix(const Site& site) {
    Tensor count = as_extent(site.in(0)), length = as_extent(site.in(1));
    Tensor rate = as_scalar(as_float(site.in(2)));
    auto bound = [&](size_t i) { return mel_of(as_scalar(as_float(site.in(i)))); };
    Tensor low = bound(3), high = bound(4);
    Tensor edges = ops::add(count, whole(2));
    Tensor step = ops::div(ops::sub(high, low), as_scalar(as_float(edges)));
    Tensor hertz = hertz_of(ops::add(ops::mul(count_up(edges, DType::f32), step), low));
    Tensor tail = ops::add(as_scalar(as_float(length)), real(1));
    Tensor bin = ops::floor(ops::div(ops::mul(hertz, tail), rate));
    auto from = [&](int64_t first) {
        Stretch stretch{0, 0, edges, first, count};
        return stretch_of(bin, stretch, Outside::edge, {});
    };
    Tensor left = from(0), centre = from(1), right = from(2);
    const DType made = output_dtype(site), dtype = wide(made);
    Tensor row = as_column(count_up(half_of(length), dtype), 1);
    auto slope = [&](const Tensor& a, const Tensor& b) {
        Tensor width = ops::where(ops::equal(a, b), real(1), ops::sub(b, a));
        return ops::div(ops::sub(row, a), as_dtype(width, dtype));
    };
    Tensor is_rising = ops::logical_and(ops::greater_equal(row, left), ops::less_equal(row, centre));
    Tensor is_falling = ops::logical_and(ops::greater_equal(row, centre), ops::less(row, right));
    Tensor rising = ops::where(ops::equal(left, centre), real(1, dtype), slope(left, centre));
    Tensor y = ops::where(is_rising, rising, real(0, dtype));
    y = ops::where(is_falling, slope(right, centre), y);
    return {as_dtype(y, made)};
}

}  // namespace

ImportRows signal_rows() {
    static constexpr ImportRow rows[] = {
        {"BlackmanWindow", import_blackman_window, 17},    {"DFT", import_dft, 17},
        {"HammingWindow", import_hamming_window, 17},      {"HannWindow", import_hann_window, 17},
        {"MelWeightMatrix", import_mel_weight_matrix, 17}, {"STFT", import_stft, 17},
    };
    return rows;
}

}  // namespace mge::onnx
