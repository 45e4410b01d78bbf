// SPDX-License-Identifier: Apache-2.0
// Matrix products.

#include <algorithm>
#include <cmath>

#include "libmge/model/import/onnx/shapes/late_values.h"
#include "libmge/model/import/onnx/steps.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/reduce/arg_extreme.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

// Limit of the parts of a sum that f32 can only represent in parts; no layer has more.
constexpr int64_t most_parts = 4096;

// Integers times a fraction are rounded to zero.
Tensor scaled(const Tensor& x, double factor) {
    if (factor == 1) return x;
    if (is_float(x.dtype()) || factor == std::trunc(factor)) return ops::mul(x, number(x, factor));
    Tensor wide = as_dtype(x, DType::f64);
    return as_dtype(ops::mul(wide, number(wide, factor)), x.dtype());
}

// The operand of a product: the step minus its zero point, which belongs to a row or a column.
Tensor centred(const Site& site, size_t i, size_t zero, bool is_left) {
    Tensor x = as_dtype(site.in(i), DType::f32);
    if (!site.has(zero)) return x;
    Tensor point = as_dtype(site.in(zero), DType::f32);
    if (is_left && rank_of(point) == 1 && point.shape()[0] != 1) point = ops::add_axis(point, {.axes = {1}});
    return ops::sub(x, point);
}

// Element-wise integer product, which wraps around on overflow.
Tensor whole_product(const Tensor& a, const Tensor& b) {
    bool is_row = rank_of(a) == 1, is_column = rank_of(b) == 1;
    Tensor left = ops::add_axis(is_row ? Tensor(ops::add_axis(a, {.axes = {0}})) : a, {.axes = {-1}});
    Tensor right = is_column ? Tensor(ops::add_axis(b, {.axes = {1}})) : b;
    int last = std::max(rank_of(left) - 1, rank_of(right)) - 1;
    // (…, m, k, 1) and (…, 1, k, n)
    right = ops::add_axis(right, {.axes = {rank_of(right) - 2}});
    Tensor y = ops::sum(ops::mul(left, right), {.axes = {last}});
    IntList dropped;
    if (is_row) dropped.push_back(last - 1);
    if (is_column) dropped.push_back(last);
    return dropped.empty() ? y : Tensor(ops::remove_axis(y, {.axes = dropped}));
}

Tensors import_matmul(const Site& site) {
    if (!is_float(site.in(0).dtype())) return {whole_product(site.in(0), site.in(1))};
    return {ops::matmul(site.in(0), site.in(1))};
}

// In parts that are exact in f32, summed as integers.
Tensors import_matmul_integer(const Site& site) {
    if (Tensor sums =
            multiplied_steps({{site.in(0), {}, site.optional(2)}, {site.in(1), {}, site.optional(3)}}, {}))
        return {sums};
    Tensor a = centred(site, 0, 2, true), b = centred(site, 1, 3, false), sum;
    auto terms = find_extent(a, rank_of(a) - 1);
    if (!terms) unsupported("a sum of products along an open dimension");
    if (*terms > most_parts * most_exact_terms) unsupported("a sum of ", *terms, " products of integers");
    int rows = std::max(0, rank_of(b) - 2);
    for (int64_t begin = 0; begin < std::max<int64_t>(*terms, 1); begin += most_exact_terms) {
        int64_t end = std::min(begin + most_exact_terms, *terms);
        bool is_all = begin == 0 && end == *terms;
        Tensor part = is_all ? ops::matmul(a, b)
                             : ops::matmul(cut(a, rank_of(a) - 1, begin, end), cut(b, rows, begin, end));
        part = as_dtype(part, DType::i32);
        sum = sum ? ops::add(sum, part) : part;
    }
    return {sum};
}

// The product of the real numbers of two pairs of steps, in steps of a third scale.
Tensors import_qlinear_matmul(const Site& site) {
    auto scale = [&](size_t i) { return as_dtype(site.in(i), DType::f32); };
    StepProduct steps{{site.in(0), scale(1), site.in(2)}, {site.in(3), scale(4), site.in(5)}};
    bool is_ours =
        is_byte(site.in(7).dtype()) && site.in(6).shape() == Shape{} && site.in(7).shape() == Shape{};
    if (Tensor y = is_ours ? multiplied_steps(steps, {site.in(7), scale(6), site.in(7)}) : Tensor())
        return {y};
    Tensor a = centred(site, 0, 2, true), b = centred(site, 3, 5, false);
    Tensor left = scale(1);
    if (rank_of(left) == 1 && left.shape()[0] != 1) left = ops::add_axis(left, {.axes = {1}});
    Tensor y = ops::mul(ops::matmul(a, b), ops::div(ops::mul(left, scale(4)), scale(6)));
    return {steps_of(y, number(y, 1), site.in(7), site.in(7).dtype())};
}

// By elimination: each round removes the row and the column of the pivot, the largest element of the first
// column. A pivot of 0 is the value of the determinant.
Tensors import_det(const Site& site) {
    Tensor rest = site.in(0), one = number(rest, 1), zero = number(rest, 0), result;
    int rank = rank_of(rest), rows = rank - 2, columns = rank - 1;
    constexpr int64_t most_rows = 64;
    auto extent = find_extent(rest, columns);
    if (rank < 2 || !extent || *extent < 1 || *extent > most_rows)
        unsupported("the determinant of a matrix of shape ", rest.shape());
    for (int64_t left = *extent; left > 0; --left) {
        Tensor column = ops::abs(cut(rest, columns, 0, 1));
        Tensor place = ops::argmax(column, {.axis = rows, .keepdims = true});
        Tensor is_chosen = ops::equal(as_column(count_up(left, DType::i32), 1), place);
        Tensor chosen = ops::sum(ops::where(is_chosen, rest, zero), {.axes = {rows}, .keepdims = true});
        Tensor pivot = cut(chosen, columns, 0, 1);
        // Two rows that change places change the sign.
        Tensor factor = ops::where(ops::equal(place, number(place, 0)), pivot, ops::neg(pivot));
        result = result ? Tensor(ops::mul(result, factor)) : factor;
        if (left == 1) break;
        Tensor first = cut(rest, rows, 0, 1);
        Tensor others = cut(ops::where(is_chosen, first, rest), rows, 1, left);
        Tensor divisor = ops::where(ops::equal(pivot, zero), one, pivot);
        Tensor part = ops::div(cut(others, columns, 0, 1), divisor);
        rest = cut(ops::sub(others, ops::mul(part, chosen)), columns, 1, left);
    }
    return {ops::remove_axis(result, {.axes = {rows, columns}})};
}

}  // namespace

// alpha a b + beta c, with either transposed.
Tensors import_gemm(const Site& site) {
    double alpha = site.attributes.number("alpha", 1), beta = site.attributes.number("beta", 1);
    site.attributes.integer("broadcast", 0);
    bool transpose_a = site.attributes.integer("transA", 0),
         transpose_b = site.attributes.integer("transB", 0);
    Tensor a = site.in(0), b = site.in(1), y;
    if (is_float(a.dtype())) {
        y = ops::matmul(a, b, {.transpose_a = transpose_a, .transpose_b = transpose_b});
    } else {
        if (transpose_a) a = ops::transpose(a, {.pattern = {1, 0}});
        if (transpose_b) b = ops::transpose(b, {.pattern = {1, 0}});
        y = whole_product(a, b);
    }
    y = scaled(y, alpha);
    return {site.has(2) && beta != 0 ? ops::add(y, scaled(site.in(2), beta)) : y};
}

ImportRows products_rows() {
    static constexpr ImportRow rows[] = {
        {"Det", import_det, 11},
        {"Gemm", import_gemm},
        {"MatMul", import_matmul},
        {"MatMulInteger", import_matmul_integer, 10},
        {"QLinearMatMul", import_qlinear_matmul, 10},
    };
    return rows;
}

}  // namespace mge::onnx
