// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/convolution/conv2d.h"
#include "libmge/model/export/onnx/parts.h"

namespace mge::to_onnx {
namespace {

constexpr size_t conv_bias = 2;

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

Operands export_conv2d(Site& s) {
    auto& p = s.params<ops::Conv2d>();
    if (!is_float(s.dtype())) unsupported("images of ", s.dtype());
    Operand y = s.emit("Conv", {s.in(0), conv_weight(s, 1), channel_vector(s, conv_bias)}, window(p));
    return {with_epilogue(s, y, p.activation)};
}

// The result does not always have the smallest possible size of the input.
Operands export_conv2d_backward_data(Site& s) {
    auto& p = s.params<ops::Conv2dBackwardData>();
    if (!is_float(s.dtype())) unsupported("images of ", s.dtype());
    Shape weight = s.fixed_shape(0);
    if (s.rank(1) != 4 || s.out_rank() != 4) unsupported("images of other ranks");
    IntList more;
    for (int i = 0; i < 2; ++i) {
        auto k = size_t(i);
        int64_t window_size = (weight[weight.rank() - 2 + i] - 1) * p.dilation[k] + 1;
        Extent least = (s.spec(1).shape.extent(2 + i) - 1) * p.stride[k] + window_size - 2 * p.padding[k];
        Extent surplus = s.out().shape.extent(2 + i) - least;
        if (!surplus.is_number()) unsupported("a size that is known only at run time");
        more.push_back(surplus.number());
    }
    Attributes attributes = window(p);
    attributes.push_back({"output_padding", more});
    return {s.emit("ConvTranspose", {s.in(1), conv_weight(s, 0)}, attributes)};
}

}  // namespace

Operand conv_weight(Site& s, size_t input) {
    if (s.rank(input) == 4) return s.in(input);
    Shape shape = s.fixed_shape(input);
    return s.reshaped(input, {shape[0] * shape[1], shape[2], shape[3], shape[4]});
}

ExportRows conv2d_rows() {
    static constexpr ExportRow rows[] = {
        {&ops::Conv2d::info, export_conv2d, "Conv"},
        {&ops::Conv2dBackwardData::info, export_conv2d_backward_data, "ConvTranspose"},
    };
    return rows;
}

}  // namespace mge::to_onnx
