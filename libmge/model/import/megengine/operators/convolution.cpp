// SPDX-License-Identifier: Apache-2.0
// Convolutions, plain or with MegEngine's fused parts (bias, a second summand z, an activation).

#include "libmge/model/import/megengine/operators/convolution.h"

#include "libmge/model/import/megengine/families.h"
#include "libmge/model/import/megengine/operators/blocked.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/activation.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "libmge/ops/shape/flip.h"

namespace mge::megengine {
namespace {

using ops::Pair;

// The parameters that Convolution and ConvBias share.
struct Window {
    Pair stride, padding, dilation;
    bool is_grouped = false;
    Blocks blocks;
};

template <class P>
Window window_of(const P& p) {
    enum : uint32_t { dense, group };
    if (p.sparse() > group) unsupported("sparsity ", p.sparse());
    auto blocks = blocks_of_format(p.format());
    if (!blocks) unsupported("the convolution format ", p.format());
    return {{p.stride_h(), p.stride_w()},
            {p.pad_h(), p.pad_w()},
            {p.dilate_h(), p.dilate_w()},
            p.sparse() == group,
            *blocks};
}

// True convolution mirrors the window, cross-correlation does not.
Tensor filter(const Site& site, const Tensor& weight, uint32_t mode, const Window& window) {
    enum : uint32_t { cross_correlation, convolution };
    if (mode > convolution) unsupported("convolution mode ", mode);
    bool is_plain = window.blocks.weight == WeightBlocks::none;
    if (is_plain && mode == cross_correlation) return weight;
    // A constant is rearranged once, here.
    if (as_constant(weight)) site.charge(weight);
    InterpreterScope scope(as_constant(weight) ? eager_interpreter() : current_interpreter());
    Tensor plain = is_plain ? weight : unblocked_weight(weight, window.blocks, window.is_grouped);
    return mode == convolution ? ops::flip(plain, {.axes = {-2, -1}}) : plain;
}

int64_t groups_of(const Tensor& weight, const Window& window) {
    int rank = window.is_grouped ? 5 : 4;
    if (rank_of(weight) != rank) invalid("a weight of shape ", weight.shape(), ", expected rank ", rank);
    return window.is_grouped ? weight.shape()[0] : 1;
}

ops::Conv2d::Params conv_params(const Tensor& weight, const Window& window) {
    return {.stride = window.stride,
            .padding = window.padding,
            .dilation = window.dilation,
            .groups = groups_of(weight, window)};
}

// The first layer of a blocked network still takes images that are not blocked.
Tensor plain_images(const Tensor& x, int64_t block) {
    return block == 1 || rank_of(x) == 4 ? x : unblocked(x, block);
}

template <class P>
ConvParts parts_by(const Site& site, const P& p) {
    Window window = window_of(p);
    Tensor weight = filter(site, site.in(1), p.mode(), window);
    return {plain_images(site.in(0), window.blocks.images), weight, conv_params(weight, window)};
}

Tensor convolved(const Site& site) {
    ConvParts parts = convolution_parts(site);
    return ops::conv2d(parts.images, parts.weight, parts.params);
}

void require_float(const Site& site) {
    if (FileDType result = file_dtype(site.op.output_dtype); result.dtype == DType::none)
        unsupported("a result of dtype ", name_of(result.type));
    if (!is_float(site.in(0).dtype())) unsupported("a convolution of ", site.in(0).dtype());
}

Tensor activated(const Tensor& y, uint32_t nonlinearity) {
    switch (activation_of(nonlinearity)) {
        case Activation::relu:
            return ops::relu(y);
        case Activation::sigmoid:
            return ops::sigmoid(y);
        case Activation::hswish:
            return ops::hswish(y);
        default:
            return y;
    }
}

}  // namespace

Activation activation_of(uint32_t nonlinearity) {
    constexpr Activation all[] = {Activation::none, Activation::relu, Activation::sigmoid,
                                  Activation::hswish};
    if (nonlinearity >= std::size(all)) unsupported("nonlinearity ", nonlinearity);
    return all[nonlinearity];
}

ConvParts convolution_parts(const Site& site) {
    if (auto* p = site.find_params<file::ConvBias>()) return parts_by(site, *p);
    return parts_by(site, site.params<file::Convolution>());
}

Tensor plain_images(const Site& site, size_t i) {
    return plain_images(site.in(i), window_of(site.params<file::ConvBias>()).blocks.results);
}

Tensor in_blocks(const Site& site, const Tensor& y) {
    auto* p = site.find_params<file::ConvBias>();
    Window window = p ? window_of(*p) : window_of(site.params<file::Convolution>());
    int64_t block = window.blocks.results;
    return block == 1 ? y : blocked(y, block);
}

Tensors import_convolution(const Site& site) {
    require_float(site);
    return {in_blocks(site, convolved(site))};
}

// The summands are added one by one: the compiler fuses them, and any of them may be a whole image.
Tensors import_conv_bias(const Site& site) {
    require_float(site);
    Tensor y = convolved(site);
    for (size_t i = 2; i < site.size(); ++i) {
        Tensor summand = plain_images(site, i);
        y = ops::add(y, summand.dtype() == y.dtype() ? summand : convert_dtype(summand, y.dtype()));
    }
    return {in_blocks(site, activated(y, site.params<file::ConvBias>().nonline_mode()))};
}

// Inputs: filter, dy and, where the size of the result is ambiguous, something of its shape.
Tensors import_deconvolution(const Site& site) {
    auto& p = site.params<file::Convolution>();
    Window window = window_of(p);
    if (window.blocks.images != 1) unsupported("a transposed convolution in the format ", p.format());
    if (!is_float(site.in(1).dtype())) unsupported("a transposed convolution of ", site.in(1).dtype());
    Tensor weight = filter(site, site.in(0), p.mode(), window);
    ops::Conv2dBackwardData::Params params{.stride = window.stride,
                                           .padding = window.padding,
                                           .dilation = window.dilation,
                                           .groups = groups_of(weight, window)};
    if (site.size() > 2) return {ops::conv2d_backward_data(weight, site.in(1), site.in(2), params)};
    return {ops::conv2d_backward_data(weight, site.in(1), params)};
}

}  // namespace mge::megengine
