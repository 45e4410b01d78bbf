// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/megengine/operators/quantised.h"

#include <algorithm>
#include <cmath>

#include "libmge/device/device.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/model/import/megengine/numbers.h"
#include "libmge/model/import/megengine/operators/convolution.h"
#include "libmge/model/import/megengine/operators/elementwise.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/quantize/convolution/quantized_conv2d.h"
#include "libmge/ops/quantize/quantize.h"
#include "libmge/ops/quantize/quantized_add.h"

namespace mge::megengine {
namespace {

using file::DTypeEnum;

// Null means 0.
Tensor zero_point(const FileDType& dtype, DType type = DType::i32) {
    return dtype.zero_point ? scalar_tensor(dtype.zero_point, type, host_device) : Tensor();
}

// The integer dtype of a quantised dtype.
DType stored_dtype(const FileDType& dtype) {
    switch (dtype.type) {
        case DTypeEnum::QuantizedS8:
            return DType::i8;
        case DTypeEnum::Quantized8Asymm:
            return DType::u8;
        default:
            return DType::i32;
    }
}

Tensor real_numbers(const Tensor& steps, const FileDType& dtype) {
    return ops::dequantize(steps, number(dtype.scale), zero_point(dtype));
}

Tensor steps_of(const Tensor& x, const FileDType& dtype) {
    return ops::quantize(convert_dtype(x, DType::f32), number(dtype.scale), zero_point(dtype),
                         {.dtype = stored_dtype(dtype)});
}

// Less the zero point, as f32, for operators that take no integers; and back.
Tensor centred(const Tensor& steps, const FileDType& dtype) {
    return ops::dequantize(steps, number(1), zero_point(dtype));
}
Tensor uncentred(const Tensor& numbers, const FileDType& dtype) {
    return ops::quantize(numbers, number(1), zero_point(dtype), {.dtype = stored_dtype(dtype)});
}

// The real numbers of an input that may be quantised.
Tensor real_input(const Site& site, size_t i) {
    auto* dtype = site.quantisation(i);
    return dtype ? real_numbers(site.in(i), *dtype) : site.in(i);
}

const FileDType& quantised_input(const Site& site, size_t i) {
    auto* dtype = site.quantisation(i);
    if (!dtype) unsupported("input ", i, " of dtype ", site.in(i).dtype(), " next to quantised ones");
    return *dtype;
}

FileDType result_of(const Site& site) { return file_dtype(site.op.output_dtype); }

// Converts real numbers to the result dtype of the file.
Tensors finished(const Site& site, const Tensor& y) {
    FileDType to = result_of(site);
    if (!is_quantised(to)) return {y.dtype() == to.dtype ? y : convert_dtype(y, to.dtype)};
    site.mark(0, to);
    return {steps_of(y, to)};
}

Tensors constants(const Site& site) {
    Tensors values;
    for (size_t i = 0; i < site.op.tensors.size(); ++i) {
        TensorRecord record = site.op.tensors[i];
        if (is_quantised(record.dtype)) {
            site.mark(i, record.dtype);
            record.dtype.dtype = stored_dtype(record.dtype);
        }
        values.push_back(at_least_vector(tensor_of(record)));
    }
    return values;
}

Tensors converted(const Site& site) {
    FileDType to = file_dtype(&site.params<file::DType>());
    Tensor x = real_input(site, 0);
    if (is_quantised(to)) {
        site.mark(0, to);
        return {steps_of(x, to)};
    }
    if (to.dtype == DType::none) unsupported("conversion to ", name_of(to.type));
    return {x.dtype() == to.dtype ? x : convert_dtype(x, to.dtype)};
}

bool is_same_scale(const FileDType& a, const FileDType& b) {
    return a.type == b.type && a.scale == b.scale && a.zero_point == b.zero_point;
}

// Data movement of integers, regardless of their meaning: all inputs and the result share one dtype.
Tensors moved(const Site& site) {
    const FileDType& dtype = quantised_input(site, 0);
    Tensors outputs = find_operator(site.op.type)->import(site);
    for (size_t i = 0; i < outputs.size(); ++i) site.mark(i, dtype);
    return outputs;
}

const FileDType& common_dtype_of(const Site& site) {
    for (size_t i = 1; i < site.size(); ++i)
        if (!is_same_scale(quantised_input(site, i), quantised_input(site, 0)))
            unsupported("quantised values of different scales");
    return quantised_input(site, 0);
}

Tensors joined(const Site& site) {
    common_dtype_of(site);
    return moved(site);
}

// Channels that fill up a block are 0, not the zero point.
Tensors rearranged(const Site& site) {
    if (quantised_input(site, 0).zero_point) unsupported("blocks of quantised values with a zero point");
    return moved(site);
}

// Operators that compute with steps as with plain numbers. Means are rounded; sums stay in range.
Tensors on_steps(const Site& site) {
    const FileDType& dtype = common_dtype_of(site);
    Tensors inputs;
    for (size_t i = 0; i < site.size(); ++i) inputs.push_back(centred(site.in(i), dtype));
    Tensors outputs = find_operator(site.op.type)->import(site.on(inputs));
    site.mark(0, dtype);
    return {uncentred(outputs[0], dtype)};
}

// Inputs after the first are not images.
Tensors pooled(const Site& site) {
    const FileDType& dtype = quantised_input(site, 0);
    Tensors inputs = site.from(0);
    inputs[0] = centred(inputs[0], dtype);
    site.mark(0, dtype);
    return {uncentred(find_operator(site.op.type)->import(site.on(inputs))[0], dtype)};
}

Tensors elementwise(const Site& site) {
    uint32_t mode = site.params<file::Elemwise>().mode();
    if (!works_on_steps(mode)) unsupported("mode ", mode, " of quantised values");
    // Integers of 32 bits would lose digits as f32.
    return quantised_input(site, 0).type == DTypeEnum::QuantizedS32 ? joined(site) : on_steps(site);
}

bool is_byte(const FileDType& dtype) { return is_quantised(dtype) && stored_dtype(dtype) != DType::i32; }

// Sums of bytes of one shape, which residual networks are full of; null for others.
Tensor sum_of_bytes(const Site& site, uint32_t mode) {
    enum : uint32_t { qadd = 6, qfuse_add_relu = 7 };
    FileDType to = result_of(site);
    if ((mode != qadd && mode != qfuse_add_relu) || site.size() != 2 || !is_byte(to)) return {};
    auto *a = site.quantisation(0), *b = site.quantisation(1);
    bool fits = a && b && is_byte(*a) && is_byte(*b) && site.in(0).shape().is_known() &&
                site.in(0).shape() == site.in(1).shape();
    if (!fits) return {};
    return ops::quantized_add({site.in(0), site.in(1), number(a->scale), number(b->scale), number(to.scale),
                               zero_point(*a), zero_point(*b), zero_point(to)},
                              {.relu = mode == qfuse_add_relu, .dtype = stored_dtype(to)});
}

Tensors elementwise_real(const Site& site) {
    if (Tensor sum = sum_of_bytes(site, site.params<file::ElemwiseMultiType>().mode())) {
        site.mark(0, result_of(site));
        return {sum};
    }
    Tensors inputs;
    for (size_t i = 0; i < site.size(); ++i) inputs.push_back(real_input(site, i));
    return finished(site, apply_quantised_mode(site.params<file::ElemwiseMultiType>().mode(), inputs));
}

// The dtype of sums of products of two inputs.
FileDType products_of(const Site& site) {
    return {DTypeEnum::QuantizedS32, DType::none,
            quantised_input(site, 0).scale * quantised_input(site, 1).scale, 0};
}

// Sums of products, converted to the dtype that the file requests.
Tensors summed(const Site& site, const Tensor& sums) {
    FileDType from = products_of(site), to = result_of(site);
    if (is_quantised(to) && to.type != DTypeEnum::QuantizedS32)
        return finished(site, real_numbers(sums, from));
    site.mark(0, from);
    return {sums};
}

// The bias in the scale of the products.
Tensor bias_of(const Site& site, const FileDType& products) {
    const FileDType& dtype = quantised_input(site, 2);
    bool is_same = std::abs(dtype.scale - products.scale) <= 1e-6f * products.scale;
    Tensor bias = plain_images(site, 2);
    return is_same ? bias : steps_of(real_numbers(bias, dtype), products);
}

ops::QuantizedConv2d::Params as_quantised(const ops::Conv2d::Params& p) {
    return {.stride = p.stride, .padding = p.padding, .dilation = p.dilation, .groups = p.groups};
}

Tensors convolution(const Site& site) {
    ConvParts parts = convolution_parts(site);
    Tensor none;
    Tensor sums =
        ops::quantized_conv2d({parts.images, parts.weight, none, none, none,
                               zero_point(quantised_input(site, 0)), zero_point(quantised_input(site, 1))},
                              as_quantised(parts.params));
    return summed(site, in_blocks(site, sums));
}

// (conv(x, w) + bias) * scale + z, activated.
Tensors convolution_with_bias(const Site& site) {
    FileDType products = products_of(site), to = result_of(site);
    ConvParts parts = convolution_parts(site);
    auto params = as_quantised(parts.params);
    params.activation = activation_of(site.params<file::ConvBias>().nonline_mode());
    bool is_real = !is_quantised(to), has_z = site.size() > 3;
    bool is_exact =
        is_real || (is_same_scale(to, products) && !has_z && params.activation == Activation::none);
    if (is_real && (has_z || params.activation != Activation::none))
        unsupported("a fused convolution of quantised values into ", name_of(to.type));
    Tensors inputs{parts.images,
                   parts.weight,
                   number(products.scale),
                   site.size() > 2 ? bias_of(site, products) : Tensor(),
                   has_z ? plain_images(site, 3) : Tensor(),
                   zero_point(quantised_input(site, 0)),
                   zero_point(quantised_input(site, 1))};
    if (!is_exact) {
        params.dtype = stored_dtype(to);
        inputs.push_back(number(to.scale));
        inputs.push_back(zero_point(to));
    }
    if (has_z) {
        inputs.push_back(number(quantised_input(site, 3).scale));
        inputs.push_back(zero_point(quantised_input(site, 3)));
    }
    Tensor y = in_blocks(site, ops::quantized_conv2d(inputs, params));
    if (is_real) return finished(site, real_numbers(y, products));
    site.mark(0, to);
    return {y};
}

// Whole numbers in f32: exact below 2^24.
Tensors deconvolution(const Site& site) {
    Tensors inputs = site.from(0);
    for (size_t i : {0, 1}) inputs[i] = centred(site.in(i), quantised_input(site, i));
    Tensor sums = import_deconvolution(site.on(inputs))[0];
    return summed(site, convert_dtype(sums, DType::i32));
}

Tensors product_of_steps(const Site& site) {
    auto& p = site.params<file::MatrixMul>();
    if (p.format()) unsupported("matrices in the blocked format ", p.format());
    auto factor = [&](size_t i) {
        auto& dtype = quantised_input(site, i);
        Tensor zero = zero_point(dtype, DType::i16);
        return zero ? ops::sub(convert_dtype(site.in(i), DType::i16), zero) : site.in(i);
    };
    return summed(site, ops::matmul(factor(0), factor(1),
                                    {.transpose_a = p.transpose_a(), .transpose_b = p.transpose_b()}));
}

// Does not look at the values.
Tensors shape(const Site& site) { return find_operator(site.op.type)->import(site); }

struct QuantisedRow {
    std::string_view type;
    Tensors (*import)(const Site&);
};
// Sorted.
constexpr QuantisedRow quantised_rows[] = {
    {"AdaptivePooling", pooled},
    {"AxisAddRemove", moved},
    {"BatchedMatrixMul", product_of_steps},
    {"Broadcast", moved},
    {"Concat", joined},
    {"ConvBiasForward", convolution_with_bias},
    {"Convolution", convolution},
    {"ConvolutionBackwardData", deconvolution},
    {"Copy", moved},
    {"Dimshuffle", moved},
    {"Elemwise", elementwise},
    {"ElemwiseMultiType", elementwise_real},
    {"GetVarShape", shape},
    {"Identity", moved},
    {"ImmutableTensor", constants},
    {"IndexingMultiAxisVec", moved},
    {"MatrixMul", product_of_steps},
    {"MultipleDeviceTensorHolder", constants},
    {"MultipleDeviceTensorWithFormatHolder", constants},
    {"Padding", moved},
    {"Pooling", pooled},
    {"RelayoutFormat", rearranged},
    {"Reshape", moved},
    {"SharedDeviceTensor", constants},
    {"SharedDeviceTensorWithFormat", constants},
    {"Split", moved},
    {"Subtensor", moved},
    {"TypeCvt", converted},
    {"VolatileSharedDeviceTensor", constants},
};

const QuantisedRow* find_row(std::string_view type) {
    auto row = std::ranges::lower_bound(quantised_rows, type, {}, &QuantisedRow::type);
    return row != std::end(quantised_rows) && row->type == type ? row : nullptr;
}

}  // namespace

bool is_quantised(const FileDType& dtype) {
    return dtype.type == DTypeEnum::QuantizedS8 || dtype.type == DTypeEnum::Quantized8Asymm ||
           dtype.type == DTypeEnum::QuantizedS32;
}

bool touches_quantised(const Site& site) {
    for (size_t i = 0; i < site.size(); ++i)
        if (site.quantisation(i)) return true;
    for (auto& tensor : site.op.tensors)
        if (is_quantised(tensor.dtype)) return true;
    auto* to = site.op.type == "TypeCvt" ? site.find_params<file::DType>() : nullptr;
    return is_quantised(file_dtype(site.op.output_dtype)) || is_quantised(file_dtype(to));
}

Tensors import_quantised(const Site& site) {
    auto* row = find_row(site.op.type);
    if (!row) unsupported("quantised values");
    return row->import(site);
}

}  // namespace mge::megengine
