// SPDX-License-Identifier: Apache-2.0
// Products with weights of few bits, as tools for language models write them: com.microsoft's MatMulNBits.

#include <cmath>

#include "libmge/base/number_text.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/device/device.h"
#include "libmge/model/import/onnx/parts.h"
#include "libmge/op/apply.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/quantize/compressed/compressed_matmul.h"
#include "libmge/ops/quantize/compressed/expand_weight.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

enum Input : size_t { a, b, scales, zero_points, group_index, bias };

struct Weight {
    int64_t rows, columns, bits, group;
    int64_t groups() const { return ceil_div(columns, group); }
};

Weight weight_of(const Site& site) {
    auto wanted = [&](std::string_view name) {
        const int64_t value = site.attributes.integer(name, 0);
        if (value < 1) invalid("its attribute ", name, " is ", value);
        return value;
    };
    Weight w{wanted("N"), wanted("K"), site.attributes.integer("bits", 4), wanted("block_size")};
    if (w.bits != 4 && w.bits != 8) unsupported("weights of ", counted(w.bits, "bit"));
    if (w.group % 2) invalid("its block_size is ", w.group, ", expected an even number");
    return w;
}

// One byte for each; 4-bit ones are packed two per byte, as weights are.
Tensor zeros_of(const Site& site, const Weight& w) {
    if (!site.has(zero_points)) return {};
    const Tensor& packed = site.in(zero_points);
    if (packed.dtype() != DType::u8) invalid("its zero points are ", packed.dtype());
    const int64_t bytes = (w.groups() * w.bits + 7) / 8;
    Tensor rows = ops::reshape(packed, {.shape = {w.rows, bytes}});
    if (w.bits == 8) return rows;
    auto all = [&](double value, DType dtype) {
        return ops::full({.shape = {w.rows, 1}, .value = value, .dtype = dtype});
    };
    return as_dtype(ops::expand_weight(rows, all(1, DType::f32), all(0, DType::u8),
                                       {.columns = w.groups(), .bits = w.bits}),
                    DType::u8);
}

bool has_real_zeros(const Site& site) {
    return site.has(zero_points) && is_float(site.in(zero_points).dtype());
}

// (q - zero) * scale in f32, for columns in any order and zero points that are not integers.
Tensor real_weight(const Site& site, const Weight& w, const Tensor& steps, const Tensor& scale) {
    auto all = [&](double value, DType dtype) {
        return ops::full({.shape = {w.rows, 1}, .value = value, .dtype = dtype});
    };
    Tensor q = cut(ops::expand_weight(steps, all(1, DType::f32), all(0, DType::u8),
                                      {.columns = w.groups() * w.group, .bits = w.bits}),
                   1, 0, w.columns);
    Tensor group = site.has(group_index) ? cut(as_dtype(site.in(group_index), DType::i32), 0, 0, w.columns)
                                         : ops::floor_div(count_up(w.columns, DType::i32),
                                                          scalar_tensor(w.group, DType::i32, host_device));
    auto by_column = [&](const Tensor& x) { return ops::take({x, group}, {.axes = {1}}); };
    Tensor zero = has_real_zeros(site) ? ops::reshape(site.in(zero_points), {.shape = {w.rows, w.groups()}})
                                       : zeros_of(site, w);
    Tensor from_zero =
        ops::sub(q, zero ? by_column(as_dtype(zero, DType::f32)) : real(std::exp2(double(w.bits - 1))));
    return ops::mul(from_zero, by_column(scale));
}

Tensors import_matmul_nbits(const Site& site) {
    // The minimum accuracy of the arithmetic, which is f32.
    site.attributes.integer("accuracy_level", 0);
    const Weight w = weight_of(site);
    const int64_t bytes = w.groups() * w.group * w.bits / 8;
    Tensor steps = ops::reshape(site.in(b), {.shape = {w.rows, bytes}});
    Tensor scale = as_dtype(ops::reshape(site.in(scales), {.shape = {w.rows, w.groups()}}), DType::f32);
    Tensor added = site.has(bias) ? as_dtype(site.in(bias), DType::f32) : Tensor();
    Tensor x = as_dtype(site.in(a), DType::f32), y;
    if (site.has(group_index) || has_real_zeros(site)) {
        y = ops::matmul(x, real_weight(site, w, steps, scale), {.transpose_b = true});
        if (added) y = ops::add(y, added);
    } else {
        y = ops::compressed_matmul(x, steps, scale, zeros_of(site, w), added,
                                   {.bits = w.bits, .group = w.group});
    }
    return {as_dtype(y, site.in(a).dtype())};
}

}  // namespace

ImportRows compressed_rows() {
    static constexpr ImportRow rows[] = {
        {"com.microsoft.MatMulNBits", import_matmul_nbits, 1, newest_opset},
    };
    return rows;
}

}  // namespace mge::onnx
