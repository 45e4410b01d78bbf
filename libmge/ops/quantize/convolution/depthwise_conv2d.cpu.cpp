// SPDX-License-Identifier: Apache-2.0
// A convolution where every channel has a window of its own. The image of 16 channels at a time is laid out
// with its border, those of a pixel side by side as i16 less the zero point; vectors run along them.

#include <algorithm>
#include <array>
#include <vector>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/balanced.h"
#include "libmge/kernel/cpu/product/integer_tile.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/nn/convolution/geometry.h"
#include "libmge/ops/quantize/convolution/convolution_rows.h"
#include "libmge/ops/quantize/convolution/tiled_conv2d.h"

namespace mge::ops {
namespace {

using Conv = QuantizedConv2d;
constexpr int64_t together = cpu::channels_together;

ConvGeometry geometry_of(const Problem& problem) {
    return conv_geometry(Conv::name, window_of(problem.as<Conv::Params>()), problem.inputs[Conv::x].shape,
                         problem.inputs[Conv::weight].shape);
}

Support supports(const Problem& problem) {
    if (auto plain = plain_layouts(problem); !plain) return plain;
    auto g = geometry_of(problem);
    if (g.ic != 1 || g.oc != 1) return {"one channel in each group only"};
    return supported;
}

struct Depthwise {
    ConvGeometry g;
    ConvEpilogue epilogue;
    bool is_x_signed, is_weight_signed;
    int64_t width, height, threads;
    std::vector<int64_t> taps;  // places in the laid out image

    int64_t image_elements() const { return width * height * together; }
    int64_t weight_elements() const { return int64_t(taps.size()) * together; }
    // For one thread: an image, its weight, the sums of a row.
    int64_t scratch_bytes() const {
        int64_t halves = image_elements() + weight_elements() + longest_row * together * 2;
        return (halves * 2 + 63) / 64 * 64;
    }
};

Prepared prepare(const PrepareContext& context) {
    auto& problem = context.problem;
    auto g = geometry_of(problem);
    Depthwise d{g,
                ConvEpilogue(problem),
                problem.inputs[Conv::x].dtype == DType::i8,
                problem.inputs[Conv::weight].dtype == DType::i8,
                g.in[1] + 2 * g.padding[1],
                g.in[0] + 2 * g.padding[0],
                problem.threads,
                {}};
    for (int64_t kh = 0; kh < g.kernel[0]; ++kh)
        for (int64_t kw = 0; kw < g.kernel[1]; ++kw)
            d.taps.push_back((kh * g.dilation[0] * d.width + kw * g.dilation[1]) * together);
    size_t workspace = size_t(d.threads * d.scratch_bytes());
    return Prepared::make(std::move(d), workspace);
}

// The planes of channels side by side, less the zero point.
template <class X>
void lay_out_image(const Depthwise& d, const X* x, int64_t channels, int32_t zero, int16_t* to) {
    std::fill(to, to + d.image_elements(), int16_t(0));
    for (int64_t h = 0; h < d.g.in[0]; ++h) {
        int16_t* row = to + ((h + d.g.padding[0]) * d.width + d.g.padding[1]) * together;
        for (int64_t c = 0; c < channels; ++c) {
            const X* from = x + (c * d.g.in[0] + h) * d.g.in[1];
            for (int64_t w = 0; w < d.g.in[1]; ++w) row[w * together + c] = int16_t(from[w] - zero);
        }
    }
}
template <class W>
void lay_out_weight(const Depthwise& d, const W* weight, int64_t channels, int32_t zero, int16_t* to) {
    auto taps = int64_t(d.taps.size());
    std::fill(to, to + d.weight_elements(), int16_t(0));
    for (int64_t c = 0; c < channels; ++c)
        for (int64_t t = 0; t < taps; ++t) to[t * together + c] = int16_t(weight[c * taps + t] - zero);
}

void run_channels(const Depthwise& d, const Launch& launch, const ConvScales& scales, int64_t n,
                  int64_t first, int16_t* scratch) {
    int64_t channels = std::min(together, d.g.groups - first), plane = n * d.g.groups + first;
    int16_t *image = scratch, *weight = image + d.image_elements();
    auto* sums = reinterpret_cast<int32_t*>(weight + d.weight_elements());
    int64_t x_at = plane * d.g.in[0] * d.g.in[1], weight_at = first * int64_t(d.taps.size());
    if (d.is_x_signed)
        lay_out_image(d, launch.in<int8_t>(Conv::x) + x_at, channels, scales.x_zero, image);
    else
        lay_out_image(d, launch.in<uint8_t>(Conv::x) + x_at, channels, scales.x_zero, image);
    if (d.is_weight_signed)
        lay_out_weight(d, launch.in<int8_t>(Conv::weight) + weight_at, channels, scales.weight_zero, weight);
    else
        lay_out_weight(d, launch.in<uint8_t>(Conv::weight) + weight_at, channels, scales.weight_zero, weight);
    std::array<int32_t, longest_row> start{};
    for (int64_t c = 0; c < channels && scales.bias; ++c) start[size_t(c)] = scales.bias[first + c];
    for (int64_t oh = 0; oh < d.g.out[0]; ++oh)
        for (int64_t ow = 0; ow < d.g.out[1]; ow += longest_row) {
            int64_t count = std::min(longest_row, d.g.out[1] - ow);
            const int16_t* x = image + (oh * d.g.stride[0] * d.width + ow * d.g.stride[1]) * together;
            cpu::multiply_channels(
                {x, weight, d.taps.data(), int64_t(d.taps.size()), d.g.stride[1] * together, count}, sums);
            finish_block(d.epilogue, scales, launch,
                         {sums, start.data(), together, count, channels, first,
                          (plane * d.g.out[0] + oh) * d.g.out[1] + ow, d.g.out[0] * d.g.out[1]});
        }
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& d = prepared.state<Depthwise>();
    ConvScales scales(launch);
    int64_t blocks = ceil_div(d.g.groups, together), units = d.g.n * blocks;
    bool is_small = units * d.image_elements() < 4 * parallel_grain;
    int64_t shares = is_small ? 1 : std::min(d.threads, units);
    in_balanced_parts(int(shares), units, 1, [&](int thread, int64_t begin, int64_t end) {
        auto* scratch = static_cast<char*>(launch.workspace) + thread * d.scratch_bytes();
        for (int64_t i = begin; i < end; ++i)
            run_channels(d, launch, scales, i / blocks, i % blocks * together,
                         reinterpret_cast<int16_t*>(scratch));
    });
}

}  // namespace

Algorithm depthwise_quantized_conv2d() { return {"depthwise", supports, prepare, run}; }

}  // namespace mge::ops
