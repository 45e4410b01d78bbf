// SPDX-License-Identifier: Apache-2.0
// Convolutions of channels-last images (nhwc) of bf16 with constant weights by matrix instructions
// (kernel/cpu/product/bf16_product.h). A row of the product is a pixel of y, whose window is read where it
// is: what a line of the window covers is contiguous. An image that needs a border is copied first. Where
// lines of y are so short that most of the matrices would be empty, the rows of all pixels are gathered.

#include <algorithm>
#include <array>
#include <cstring>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/product/bf16_product.h"
#include "libmge/kernel/packed_values.h"
#include "libmge/ops/nn/convolution/channel_blocks.h"
#include "libmge/ops/nn/convolution/conv2d_algorithms.h"
#include "libmge/ops/nn/convolution/geometry.h"

namespace mge::ops {
namespace {

constexpr int64_t short_line = 8;  // pixels of y: half of the rows of a matrix
constexpr size_t alignment = 64;

struct TilesConv {
    ConvGeometry g;
    cpu::Bf16Product product;
    std::vector<int64_t> window;  // the lines of a window, or if pixels are dilated, each pixel
    int64_t window_part;          // its elements
    bool is_gathered;
    DType bias;
    int threads;
    PackedValues<uint16_t> weight;

    bool is_copied() const { return !(g.padding == Pair{0, 0}); }
    int64_t width() const { return g.in[1] + 2 * g.padding[1]; }
    int64_t height() const { return g.in[0] + 2 * g.padding[0]; }
    static size_t aligned(int64_t bytes) { return (size_t(bytes) + alignment - 1) / alignment * alignment; }
    size_t bias_bytes() const { return aligned(product.bias_size() * int64_t(sizeof(float))); }
    size_t image_bytes() const {
        return is_copied() ? aligned(height() * width() * g.ic * int64_t(sizeof(uint16_t))) : 0;
    }
    size_t gathered_bytes() const {
        return is_gathered ? aligned(product.rows * product.k() * int64_t(sizeof(uint16_t))) : 0;
    }
};

int64_t window_part(const ConvGeometry& g) { return g.dilation[1] == 1 ? g.kernel[1] * g.ic : g.ic; }

Support supports(const Problem& p) {
    if (!cpu::has_bf16_tiles()) return {"no matrix instructions"};
    if (Support images = has_channels_last_of_bf16(p); !images) return images;
    const DType y = p.outputs[0].dtype;
    if (y != DType::bf16 && y != DType::f32) return {"results of bf16 or f32 only"};
    const auto g = forward_geometry(p);
    if (g.groups != 1) return {"one group only"};
    return cpu::bf16_depth(window_part(g)) ? supported : Support{"lines of windows with few divisors"};
}

// Blocks of columns, pairs along the products side by side.
void pack_weight(TilesConv& c, const uint16_t* weight) {
    auto& g = c.g;
    const int64_t taps = g.kernel[0] * g.kernel[1], k = c.product.k();
    c.weight = PackedValues<uint16_t>(c.product.weight_size());
    par_for(c.threads, c.product.blocks(), 1, [&](int64_t begin, int64_t end) {
        for (int64_t oc = begin * cpu::bf16_columns; oc < std::min(g.oc, end * cpu::bf16_columns); ++oc) {
            const int64_t column = oc % cpu::bf16_columns;
            uint16_t* block = c.weight.data() + (oc - column) * k;
            for (int64_t tap = 0; tap < taps; ++tap)
                for (int64_t ic = 0; ic < g.ic; ++ic) {
                    const int64_t at = tap * g.ic + ic;
                    block[(at / 2 * cpu::bf16_columns + column) * 2 + at % 2] =
                        weight[(oc * g.ic + ic) * taps + tap];
                }
        }
    });
}

Prepared prepare(const PrepareContext& context) {
    auto& p = context.problem;
    TilesConv c{.g = forward_geometry(p),
                .window_part = window_part(forward_geometry(p)),
                .bias = p.has_input(2) ? p.inputs[2].dtype : DType::none,
                .threads = p.threads};
    auto& g = c.g;
    constexpr Pair none{0, 0}, one{1, 1};
    if (g.kernel == one && g.stride == one && g.padding == none) {  // all pixels are neighbours
        g.in = g.out = {1, g.n * g.in[0] * g.in[1]};
        g.n = 1;
    }
    const int64_t line = c.width() * g.ic;
    for (int64_t kh = 0; kh < g.kernel[0]; ++kh)
        for (int64_t kw = 0; kw < (g.dilation[1] == 1 ? 1 : g.kernel[1]); ++kw)
            c.window.push_back(kh * g.dilation[0] * line + kw * g.dilation[1] * g.ic);
    c.is_gathered = g.out[1] <= short_line && g.out[0] > 1;
    const int64_t pixels = g.out[0] * g.out[1], k = int64_t(c.window.size()) * c.window_part;
    c.product = {.tiles = cpu::LineTiles(c.is_gathered ? 1 : g.out[0], c.is_gathered ? pixels : g.out[1],
                                         cpu::bf16_rows),
                 .rows = pixels,
                 .line_stride = g.stride[0] * line,
                 .row_stride = c.is_gathered ? k : g.stride[1] * g.ic,
                 .parts = c.is_gathered ? std::vector<int64_t>{0} : c.window,
                 .part = c.is_gathered ? k : c.window_part,
                 .depth = cpu::bf16_depth(c.is_gathered ? k : c.window_part),
                 .columns = g.oc,
                 .finish = {p.outputs[0].dtype, p.as<Conv2d::Params>().activation}};
    pack_weight(c, static_cast<const uint16_t*>(context.constants[1]));
    PackedInputs packed{{c.weight.piece()}, 1u << 1};
    const size_t workspace = c.bias_bytes() + c.image_bytes() + c.gathered_bytes();
    return Prepared::make(std::move(c), workspace, std::move(packed));
}

void copy_with_border(const TilesConv& c, const uint16_t* x, uint16_t* to) {
    const int64_t line = c.width() * c.g.ic, side = c.g.padding[1] * c.g.ic, inner = c.g.in[1] * c.g.ic;
    const int64_t grain = std::max<int64_t>(1, 8 * parallel_grain / std::max<int64_t>(1, line));
    par_for(c.threads, c.height(), grain, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            uint16_t* y = to + row * line;
            const int64_t h = row - c.g.padding[0];
            if (h < 0 || h >= c.g.in[0]) {
                std::fill_n(y, line, uint16_t(0));
                continue;
            }
            std::fill_n(y, side, uint16_t(0));
            std::copy_n(x + h * inner, inner, y + side);
            std::fill_n(y + side + inner, side, uint16_t(0));
        }
    });
}

void gather_rows(const TilesConv& c, const uint16_t* x, uint16_t* to) {
    auto& g = c.g;
    const int64_t k = c.product.k(), grain = std::max<int64_t>(1, 8 * parallel_grain / k);
    par_for(c.threads, c.product.rows, grain, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            const int64_t h = row / g.out[1] * g.stride[0], w = row % g.out[1] * g.stride[1];
            for (size_t i = 0; i < c.window.size(); ++i)
                std::copy_n(x + (h * c.width() + w) * g.ic + c.window[i], c.window_part,
                            to + row * k + int64_t(i) * c.window_part);
        }
    });
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& c = prepared.state<TilesConv>();
    auto& g = c.g;
    auto* memory = static_cast<std::byte*>(launch.workspace);
    auto* bias = reinterpret_cast<float*>(memory);
    auto* copy = reinterpret_cast<uint16_t*>(memory + c.bias_bytes());
    auto* gathered = reinterpret_cast<uint16_t*>(memory + c.bias_bytes() + c.image_bytes());
    cpu::pad_bias(c.product, c.bias, launch.in_if_given<void>(2), bias);
    const auto element = int64_t(size_of(c.product.finish.dtype));
    const auto* residual = static_cast<const std::byte*>(launch.in_if_given<void>(3));
    for (int64_t n = 0; n < g.n; ++n) {
        const uint16_t* x = launch.in<uint16_t>(0) + n * g.in[0] * g.in[1] * g.ic;
        if (c.is_copied()) copy_with_border(c, x, copy);
        if (c.is_copied()) x = copy;
        if (c.is_gathered) gather_rows(c, x, gathered);
        const int64_t y = n * c.product.rows * g.oc * element;
        cpu::multiply_bf16(c.product,
                           {.x = c.is_gathered ? gathered : x,
                            .weight = c.weight.data(),
                            .bias = bias,
                            .residual = residual ? residual + y : nullptr,
                            .y = static_cast<std::byte*>(launch.outputs[0]) + y},
                           c.threads);
    }
}

}  // namespace

Algorithm bf16_conv2d() { return {"amx_tiles", supports, prepare, run}; }

}  // namespace mge::ops
