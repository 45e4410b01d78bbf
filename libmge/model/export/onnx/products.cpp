// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "libmge/model/export/onnx/families.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/nn/convolution/conv2d.h"

namespace mge::to_onnx {
namespace {

constexpr size_t bias = 2, residual = 3;

Operand with_epilogue(Site& s, Operand y, Activation activation) {
    if (s.has(residual)) y = s.emit("Add", {y, s.in(residual)});
    return activated(s, activation, y, s.out().dtype);
}

Operand swapped(Site& s, size_t i, bool is_swapped) {
    if (!is_swapped || s.rank(i) < 2) return s.in(i);
    IntList pattern(size_t(s.rank(i)));
    std::iota(pattern.begin(), pattern.end(), 0);
    std::swap(pattern[pattern.size() - 1], pattern[pattern.size() - 2]);
    return s.transpose(s.in(i), pattern);
}

IntList twice(const ops::Pair& padding) { return {padding[0], padding[1], padding[0], padding[1]}; }
IntList list(const ops::Pair& pair) { return {pair[0], pair[1]}; }

template <class Params>
Attributes window(const Params& p) {
    return {{"strides", list(p.stride)},
            {"pads", twice(p.padding)},
            {"dilations", list(p.dilation)},
            {"group", p.groups}};
}

Operand channel_vector(Site& s, size_t i) {
    return s.has(i) ? s.reshaped(i, {s.fixed_shape(i).numel()}) : Operand();
}

}  // namespace

Operands export_matmul(Site& s) {
    auto& p = s.params<ops::Matmul>();
    bool are_matrices = s.spec(0).shape.rank() == 2 && s.spec(1).shape.rank() == 2;
    bool are_bytes = s.out().dtype == DType::i32 && size_of(s.dtype()) == 1;
    if (are_matrices && is_float(s.dtype()) && (p.transpose_a || p.transpose_b || s.has(bias))) {
        Operand y = s.emit("Gemm", {s.in(0), s.in(1), s.in(bias)},
                           {{"transA", int64_t(p.transpose_a)}, {"transB", int64_t(p.transpose_b)}});
        return {with_epilogue(s, y, p.activation)};
    }
    Operand y = s.emit(are_bytes ? "MatMulInteger" : "MatMul",
                       {swapped(s, 0, p.transpose_a), swapped(s, 1, p.transpose_b)});
    if (s.has(bias)) y = s.emit("Add", {y, s.in(bias)});
    return {with_epilogue(s, y, p.activation)};
}

Operand conv_weight(Site& s, size_t input) {
    if (s.rank(input) == 4) return s.in(input);
    Shape shape = s.fixed_shape(input);
    return s.reshaped(input, {shape[0] * shape[1], shape[2], shape[3], shape[4]});
}

Operands export_conv2d(Site& s) {
    auto& p = s.params<ops::Conv2d>();
    if (!is_float(s.dtype())) unsupported("images of ", s.dtype());
    Operand y = s.emit("Conv", {s.in(0), conv_weight(s, 1), channel_vector(s, bias)}, window(p));
    return {with_epilogue(s, y, p.activation)};
}

// Of the sizes that give one under the convolution the result has not always the smallest.
Operands export_conv2d_backward_data(Site& s) {
    auto& p = s.params<ops::Conv2dBackwardData>();
    if (!is_float(s.dtype())) unsupported("images of ", s.dtype());
    Shape weight = s.fixed_shape(0);
    IntList more;
    for (int i = 0; i < 2; ++i) {
        auto k = size_t(i);
        auto size = s.shapes.extent(s.out_id(), 2 + i);
        if (!size) unsupported("a size that is not known ahead of a run");
        int64_t window_size = (weight[weight.rank() - 2 + i] - 1) * p.dilation[k] + 1;
        more.push_back(*size - ((s.extent(1, 2 + i) - 1) * p.stride[k] + window_size - 2 * p.padding[k]));
    }
    Attributes attributes = window(p);
    attributes.push_back({"output_padding", more});
    return {s.emit("ConvTranspose", {s.in(1), conv_weight(s, 0)}, attributes)};
}

}  // namespace mge::to_onnx
