// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/megengine/quantised.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "libmge/device/device.h"
#include "libmge/model/import/megengine/convolution.h"
#include "libmge/model/import/megengine/elementwise.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/clip.h"
#include "libmge/ops/linalg/matmul.h"

namespace mge::megengine {
namespace {

using file::DTypeEnum;

Tensor number(double value) { return scalar_tensor(value, DType::f32, host_device); }

struct Range {
    double low, high;
};
Range range_of(const FileDType& dtype) {
    switch (dtype.type) {
        case DTypeEnum::QuantizedS8:
            return {-128, 127};
        case DTypeEnum::Quantized8Asymm:
            return {-double(dtype.zero_point), 255 - double(dtype.zero_point)};
        default:
            return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    }
}

Tensor real_numbers(const Tensor& steps, const FileDType& dtype) {
    return ops::mul(steps, number(dtype.scale));
}

Tensor steps_of(const Tensor& x, const FileDType& dtype) {
    Range range = range_of(dtype);
    Tensor steps = ops::round(ops::div(convert_dtype(x, DType::f32), number(dtype.scale)));
    return ops::clip(steps, {.lower = range.low, .upper = range.high});
}

// The real numbers of an input that may be quantised.
Tensor real_input(const Site& site, size_t i) {
    auto* dtype = site.quantisation(i);
    return dtype ? real_numbers(site.in(i), *dtype) : site.in(i);
}

const FileDType& quantised_input(const Site& site, size_t i) {
    auto* dtype = site.quantisation(i);
    if (!dtype) unsupported("input ", i, " of dtype ", site.in(i).dtype(), " beside quantised ones");
    return *dtype;
}

FileDType result_of(const Site& site) { return file_dtype(site.op.output_dtype); }

// Real numbers as the result that the file asks for.
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
        FileDType dtype = record.dtype;
        if (!is_quantised(dtype)) {
            values.push_back(at_least_vector(tensor_of(record)));
            continue;
        }
        record.dtype.dtype = dtype.type == DTypeEnum::QuantizedS8       ? DType::i8
                             : dtype.type == DTypeEnum::Quantized8Asymm ? DType::u8
                                                                        : DType::i32;
        Tensor stored = at_least_vector(tensor_of(record));
        site.charge(stored);
        // A constant is converted once, here.
        InterpreterScope scope(eager_interpreter());
        Tensor steps = convert_dtype(stored, DType::f32);
        values.push_back(dtype.zero_point ? ops::sub(steps, number(dtype.zero_point)) : steps);
        site.mark(i, dtype);
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

// What computes with steps as with any numbers: all inputs and the result share one dtype.
Tensors on_steps(const Site& site) {
    const FileDType& dtype = quantised_input(site, 0);
    Tensors outputs = find_operator(site.op.type)->import(site);
    for (size_t i = 0; i < outputs.size(); ++i) site.mark(i, dtype);
    return outputs;
}

Tensors joined(const Site& site) {
    for (size_t i = 1; i < site.size(); ++i)
        if (!is_same_scale(quantised_input(site, i), quantised_input(site, 0)))
            unsupported("joining quantised values of different scales");
    return on_steps(site);
}

// The mean of steps is rounded to a step.
Tensors pooled(const Site& site) {
    Tensors outputs = on_steps(site);
    return {ops::round(outputs[0])};
}

// A constant margin is given as the file stores numbers.
Tensors padded(const Site& site) {
    enum : uint32_t { constant = 2 };
    if (quantised_input(site, 0).zero_point && site.params<file::Padding>().padding_mode() == constant)
        unsupported("a constant margin around quantised values with a zero point");
    return on_steps(site);
}

Tensors elementwise(const Site& site) {
    uint32_t mode = site.params<file::Elemwise>().mode();
    if (!works_on_steps(mode)) unsupported("mode ", mode, " of quantised values");
    return joined(site);
}

Tensors elementwise_real(const Site& site) {
    Tensors inputs;
    for (size_t i = 0; i < site.size(); ++i) inputs.push_back(real_input(site, i));
    return finished(site, apply_quantised_mode(site.params<file::ElemwiseMultiType>().mode(), inputs));
}

// What sums of products of two inputs are.
FileDType products_of(const Site& site) {
    return {DTypeEnum::QuantizedS32, DType::none,
            quantised_input(site, 0).scale * quantised_input(site, 1).scale, 0};
}

// Sums of products, which the file may want in another dtype.
Tensors summed(const Site& site, const Tensor& sums) {
    FileDType from = products_of(site), to = result_of(site);
    if (is_quantised(to) && to.type != DTypeEnum::QuantizedS32)
        return finished(site, real_numbers(sums, from));
    site.mark(0, from);
    return {sums};
}

Tensors convolution(const Site& site) { return summed(site, in_blocks(site, convolved(site))); }
Tensors deconvolution(const Site& site) { return summed(site, import_deconvolution(site)[0]); }

// (conv(x, w) + bias) * scale + z, the bias in the scale of the products.
Tensors convolution_with_bias(const Site& site) {
    FileDType from = products_of(site);
    Tensor y = convolved(site);
    if (site.size() > 2) {
        float scale = quantised_input(site, 2).scale;
        bool is_same = std::abs(scale - from.scale) <= 1e-6f * from.scale;
        Tensor bias = plain_images(site, 2);
        y = ops::add(y, is_same ? bias : ops::mul(bias, number(scale / from.scale)));
    }
    y = real_numbers(y, from);
    if (site.size() > 3) y = ops::add(y, real_numbers(plain_images(site, 3), quantised_input(site, 3)));
    return finished(site, in_blocks(site, activated(y, site.params<file::ConvBias>().nonline_mode())));
}

Tensors product(const Site& site) {
    auto& p = site.params<file::MatrixMul>();
    if (p.format()) unsupported("matrices in the blocked format ", p.format());
    return summed(site, ops::matmul(site.in(0), site.in(1),
                                    {.transpose_a = p.transpose_a(), .transpose_b = p.transpose_b()}));
}

// Does not look at the values.
Tensors shape(const Site& site) { return find_operator(site.op.type)->import(site); }

struct Row {
    std::string_view type;
    Tensors (*import)(const Site&);
};
// Sorted.
constexpr Row rows[] = {
    {"AdaptivePooling", pooled},
    {"AxisAddRemove", on_steps},
    {"BatchedMatrixMul", product},
    {"Broadcast", on_steps},
    {"Concat", joined},
    {"ConvBiasForward", convolution_with_bias},
    {"Convolution", convolution},
    {"ConvolutionBackwardData", deconvolution},
    {"Copy", on_steps},
    {"Dimshuffle", on_steps},
    {"Elemwise", elementwise},
    {"ElemwiseMultiType", elementwise_real},
    {"GetVarShape", shape},
    {"Identity", on_steps},
    {"ImmutableTensor", constants},
    {"IndexingMultiAxisVec", on_steps},
    {"MatrixMul", product},
    {"MultipleDeviceTensorHolder", constants},
    {"MultipleDeviceTensorWithFormatHolder", constants},
    {"Padding", padded},
    {"Pooling", pooled},
    {"RelayoutFormat", on_steps},
    {"Reshape", on_steps},
    {"SharedDeviceTensor", constants},
    {"SharedDeviceTensorWithFormat", constants},
    {"Split", on_steps},
    {"Subtensor", on_steps},
    {"TypeCvt", converted},
    {"VolatileSharedDeviceTensor", constants},
};

const Row* find_row(std::string_view type) {
    auto row = std::ranges::lower_bound(rows, type, {}, &Row::type);
    return row != std::end(rows) && row->type == type ? row : nullptr;
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

Tensor stored_numbers(const Tensor& steps, const FileDType& dtype) {
    if (dtype.type == DTypeEnum::QuantizedS32) return convert_dtype(steps, DType::i32);
    if (dtype.type == DTypeEnum::QuantizedS8) return convert_dtype(steps, DType::i8);
    return convert_dtype(ops::add(steps, number(dtype.zero_point)), DType::u8);
}

}  // namespace mge::megengine
