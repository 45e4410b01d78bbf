// SPDX-License-Identifier: Apache-2.0
// Products with weights of few bits, as tools for language models write them: com.microsoft's MatMulNBits.

#include "libmge/base/number_text.h"
#include "libmge/model/import/onnx/parts.h"
#include "libmge/op/apply.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/quantize/compressed/compressed_matmul.h"
#include "libmge/ops/quantize/compressed/expand_weight.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

enum Input : size_t { a, b, scales, zero_points, group_index, bias };

struct Weight {
    int64_t rows, columns, bits, group;
    int64_t groups() const { return (columns + group - 1) / group; }
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
    if (packed.dtype() != DType::u8) unsupported("zero points of ", packed.dtype());
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

Tensors import_matmul_nbits(const Site& site) {
    // The minimum accuracy of the arithmetic, which is f32.
    site.attributes.integer("accuracy_level", 0);
    const Weight w = weight_of(site);
    if (site.has(group_index)) unsupported("reordered columns (g_idx)");
    const int64_t bytes = w.groups() * w.group * w.bits / 8;
    Tensor steps = ops::reshape(site.in(b), {.shape = {w.rows, bytes}});
    Tensor scale = as_dtype(ops::reshape(site.in(scales), {.shape = {w.rows, w.groups()}}), DType::f32);
    Tensor added = site.has(bias) ? as_dtype(site.in(bias), DType::f32) : Tensor();
    Tensor y = ops::compressed_matmul(as_dtype(site.in(a), DType::f32), steps, scale, zeros_of(site, w),
                                      added, {.bits = w.bits, .group = w.group});
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
