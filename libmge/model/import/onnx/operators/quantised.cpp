// SPDX-License-Identifier: Apache-2.0
// Quantised steps. Convolutions and sums between them are computed in steps (steps.h), everything else as
// floats, where halves of a step are rounded to even.

#include <algorithm>

#include "libmge/base/number_text.h"
#include "libmge/model/import/onnx/importer.h"
#include "libmge/model/import/onnx/steps.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/clip.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/quantize/quantize.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/broadcast.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/tensor/narrow.h"

namespace mge::onnx {
namespace {

struct Range {
    DType dtype;
    double lowest, highest;
};
constexpr Range ranges[] = {{DType::u8, 0, 255},    {DType::i8, -128, 127},      {DType::u4, 0, 15},
                            {DType::u16, 0, 65535}, {DType::i16, -32768, 32767}, {DType::i4, -8, 7},
                            {DType::u2, 0, 3},      {DType::i2, -2, 1}};

Range range_of(DType dtype) {
    auto found = std::ranges::find(ranges, dtype, &Range::dtype);
    if (found == std::end(ranges)) unsupported("quantised values of ", dtype);
    return *found;
}

// Each number for so many neighbours along an axis; the last block may be cut.
Tensor in_blocks(const Tensor& numbers, const Tensor& x, int axis, int64_t size) {
    if (rank_of(numbers) != rank_of(x))
        invalid("its scales have rank ", rank_of(numbers), ", its input has shape ", x.shape());
    auto have = find_extent(x, axis), blocks = find_extent(numbers, axis);
    if (!have || !blocks) unsupported("blocks of an open dimension");
    if (size < 1 || *blocks != (*have ? (*have - 1) / size + 1 : 0))
        invalid(counted(*blocks, "block"), " of size ", size, " do not fit an axis of size ", *have);
    IntList shape(size_t(rank_of(x)) + 1, -1);
    shape[size_t(axis) + 1] = std::min(size, *have);
    Tensor copies = ops::broadcast_to(ops::add_axis(numbers, {.axes = {axis + 1}}), {.shape = shape});
    Tensor all = ops::flatten(copies, {.start = axis, .end = axis + 1});
    return *have % size ? cut(all, axis, 0, *have) : all;
}

// One number, one for each element of an axis, or one for each block of it.
Tensor along(const Site& site, const Tensor& numbers, const Tensor& x, int64_t axis) {
    int rank = rank_of(x);
    if (int64_t size = site.attributes.integer("block_size", 0))
        return in_blocks(numbers, x, site.axis(axis, rank), size);
    if (rank_of(numbers) == 0) return numbers;
    if (rank_of(numbers) != 1) invalid("its scales have rank ", rank_of(numbers), ", expected 1");
    if (numbers.shape()[0] == 1) return ops::reshape(numbers, {.shape = {}});
    return with_trailing_axes(numbers, rank - 1 - site.axis(axis, rank));
}

Tensor numbers_of(const Tensor& steps, const Tensor& scale, const Tensor& zero) {
    Tensor x = as_dtype(steps, DType::f32);
    if (zero) x = ops::sub(x, as_dtype(zero, DType::f32));
    return ops::mul(x, as_dtype(scale, DType::f32));
}

// Whether the quantising operators take them: one scale, or as many as broadcast, and zero points like them.
bool are_ours(const Tensor& scale, const Tensor& zero) {
    return scale.dtype() == DType::f32 && scale.shape().is_known() &&
           (!zero || zero.shape() == scale.shape());
}

Tensors import_quantize_linear(const Site& site) {
    site.attributes.integer("precision", 0);
    Tensor x = as_dtype(site.in(0), DType::f32);
    int64_t axis = site.attributes.integer("axis", 1), to = site.attributes.integer("output_dtype", 0);
    auto dtype = to ? dtype_of(int(to)) : site.has(2) ? std::optional(site.in(2).dtype()) : DType::u8;
    if (!dtype) unsupported("quantised values of ", name_of_data_type(int(to)));
    Tensor scale = as_dtype(along(site, site.in(1), x, axis), DType::f32);
    Tensor zero = site.has(2) ? along(site, site.in(2), x, axis) : Tensor();
    if (is_narrow(*dtype) && !is_narrow_int(*dtype)) {
        Tensor numbers = ops::div(x, scale);
        if (zero) numbers = ops::add(numbers, as_dtype(zero, DType::f32));
        return {as_cast(site, numbers, *dtype)};
    }
    site.attributes.integer("saturate", 1);
    if (Tensor steps = in_steps(site.importer.builder(), x, scale, zero, *dtype)) return {steps};
    return {steps_of(x, scale, zero, *dtype)};
}

Tensors import_dequantize_linear(const Site& site) {
    int64_t axis = site.attributes.integer("axis", 1), to = site.attributes.integer("output_dtype", 0);
    auto dtype = to ? dtype_of(int(to)) : std::optional(site.in(1).dtype());
    if (!dtype) unsupported("numbers of ", name_of_data_type(int(to)));
    Tensor x = site.in(0), scale = along(site, site.in(1), x, axis);
    Tensor zero = site.has(2) ? along(site, site.in(2), x, axis) : Tensor();
    bool is_ours = (is_byte(x.dtype()) || x.dtype() == DType::i32) && are_ours(scale, zero);
    if (!is_ours) return {as_dtype(numbers_of(x, scale, zero), *dtype)};
    return {as_dtype(ops::dequantize(x, scale, zero ? as_dtype(zero, DType::i32) : zero), *dtype)};
}

}  // namespace

Tensor steps_of(const Tensor& x, const Tensor& scale, const Tensor& zero, DType dtype) {
    if (is_byte(dtype) && x.dtype() == DType::f32 && are_ours(scale, zero))
        return ops::quantize(x, scale, zero ? as_dtype(zero, DType::i32) : zero,
                             {.dtype = dtype, .rounding = ops::StepRounding::half_even});
    Range range = range_of(dtype);
    Tensor steps = ops::round_to_even(ops::div(x, scale));
    if (zero) steps = ops::add(steps, as_dtype(zero, steps.dtype()));
    return as_dtype(ops::clip(steps, {.lower = range.lowest, .upper = range.highest}), dtype);
}

// The range of x, extended to contain 0, in 255 steps.
Tensors import_dynamic_quantize_linear(const Site& site) {
    const Tensor& x = site.in(0);
    Tensor none = number(x, 0);
    Tensor highest = ops::maximum(largest_along(x, {}), none);
    Tensor lowest = ops::minimum(smallest_along(x, {}), none);
    Tensor span = ops::sub(highest, lowest), all = number(x, 255);
    // For a tensor of zeros the step is 1.
    Tensor scale = ops::div(ops::where(ops::equal(span, none), all, span), all);
    Tensor zero =
        ops::clip(ops::round_to_even(ops::neg(ops::div(lowest, scale))), {.lower = 0, .upper = 255});
    return {steps_of(x, scale, zero, DType::u8), scale, as_dtype(zero, DType::u8)};
}

ImportRows quantised_rows() {
    static constexpr ImportRow rows[] = {
        {"DequantizeLinear", import_dequantize_linear, 10},
        {"DynamicQuantizeLinear", import_dynamic_quantize_linear, 11},
        {"QuantizeLinear", import_quantize_linear, 10},
        {"com.microsoft.DequantizeLinear", import_dequantize_linear, 1, newest_opset},
        {"com.microsoft.QuantizeLinear", import_quantize_linear, 1, newest_opset},
    };
    return rows;
}

}  // namespace mge::onnx
