// SPDX-License-Identifier: Apache-2.0
// A depthwise convolution of channels-last images (nhwc). Pixels above and below the image are a line of zero
// points; windows across the left and right border are computed one by one.

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/product/byte_product.h"
#include "libmge/kernel/packed_values.h"
#include "libmge/ops/quantize/convolution/channels_last.h"
#include "libmge/ops/quantize/convolution/convolution_rows.h"
#include "libmge/ops/quantize/convolution/quad_epilogue.cpu.h"

namespace mge::ops {

namespace {

using Conv = QuantizedConv2d;
constexpr int64_t together = cpu::byte_channels;

struct Depthwise {
    ConvGeometry g;
    ConvEpilogue epilogue;
    const cpu::ByteWindowKernel* kernel;
    bool is_x_signed;
    int64_t threads;
    PackedValues<uint8_t> weight;      // block after block of channels
    std::vector<int32_t> weight_sums;  // per channel

    int64_t channels() const { return g.groups; }
    bool has_columns() const { return kernel->orders_by_columns && g.kernel == Pair{3, 3}; }
    int64_t column_bytes() const { return g.dilation[1] * channels(); }
    // A line of zero points.
    int64_t outside_bytes() const {
        const int64_t columns = std::min(g.out[1], longest_row) * g.stride[1] * channels();
        return columns + (has_columns() ? g.kernel[1] * column_bytes() : channels());
    }
    int64_t filled_taps() const {
        const int64_t size = kernel->taps_together, taps = g.kernel[0] * g.kernel[1];
        return has_columns() ? g.kernel[1] * size : round_up(taps, size);
    }
    int64_t place_of_tap(int64_t row, int64_t column) const {
        return has_columns() ? column * kernel->taps_together + row : row * g.kernel[1] + column;
    }
    int64_t blocks() const { return ceil_div(channels(), together); }
    int64_t block_bytes() const { return filled_taps() * together * kernel->weight_bytes; }
    // Lines of y whose pixels are finished together.
    int64_t lines_together() const { return std::max<int64_t>(1, longest_row / g.out[1]); }
};

Support supports(const Problem& problem) {
    if (auto images = channels_last_images(problem); !images) return images;
    auto g = quantised_geometry(problem);
    return g.ic == 1 && g.oc == 1 ? supported : Support{"one channel in each group only"};
}

Prepared prepare(const PrepareContext& context) {
    auto& problem = context.problem;
    Depthwise d{quantised_geometry(problem),
                ConvEpilogue(problem),
                cpu::dot_windows() ? cpu::dot_windows() : &cpu::pair_windows(),
                problem.inputs[Conv::x].dtype == DType::i8,
                problem.threads,
                {},
                {}};
    d.epilogue.y_may_be_short = short_divisions(context).by_y_scale;
    auto* weight = static_cast<const int8_t*>(context.constants[Conv::weight]);
    const int64_t columns = d.g.kernel[1], taps = d.g.kernel[0] * columns;
    d.weight = PackedValues<uint8_t>(d.blocks() * d.block_bytes());
    d.weight_sums.resize(size_t(d.channels()));
    for (int64_t c = 0; c < d.channels(); ++c)
        for (int64_t t = 0; t < taps; ++t) {
            int8_t w = weight[c * taps + t];
            uint8_t* block = d.weight.data() + c / together * d.block_bytes();
            int64_t place = d.kernel->place_of_tap(d.place_of_tap(t / columns, t % columns), c % together);
            auto wide = int16_t(w);  // with the lowest byte first
            std::memcpy(block + place * d.kernel->weight_bytes, &wide, size_t(d.kernel->weight_bytes));
            d.weight_sums[size_t(c)] += w;
        }
    PackedInputs packed{{d.weight.piece()}, 1u << Conv::weight};
    auto workspace = aligned(size_t(d.outside_bytes())) + size_t(d.blocks() * together) * sizeof(int32_t);
    return Prepared::make(std::move(d), workspace, std::move(packed));
}

struct DepthwiseRun {
    const Depthwise& d;
    const Launch& launch;
    const ConvScales& scales;
    const uint8_t *x, *outside;  // the image, a line outside of it
    const int32_t* start;        // each channel's sums begin with it
    int64_t first_pixel;         // the image's first pixel in all of y
};

// Addresses of the taps of a pixel; padding taps may be anywhere.
void point_at_taps(const DepthwiseRun& run, int64_t oh, int64_t ow, std::vector<const uint8_t*>& taps) {
    auto& g = run.d.g;
    std::fill(taps.begin(), taps.end(), run.outside);
    for (int64_t kh = 0; kh < g.kernel[0]; ++kh)
        for (int64_t kw = 0; kw < g.kernel[1]; ++kw) {
            int64_t h = oh * g.stride[0] - g.padding[0] + kh * g.dilation[0];
            int64_t w = ow * g.stride[1] - g.padding[1] + kw * g.dilation[1];
            bool is_inside = h >= 0 && h < g.in[0] && w >= 0 && w < g.in[1];
            if (is_inside)
                taps[size_t(run.d.place_of_tap(kh, kw))] = run.x + (h * g.in[1] + w) * run.d.channels();
        }
}

// The pixels of a line of y whose windows are between the left and the right border.
struct Span {
    int64_t begin, end;
};
Span inner_pixels(const ConvGeometry& g) {
    int64_t reach = (g.kernel[1] - 1) * g.dilation[1];
    int64_t begin = ceil_div(g.padding[1], g.stride[1]);
    int64_t last = g.in[1] - 1 - reach + g.padding[1];
    int64_t end = last < 0 ? 0 : last / g.stride[1] + 1;
    begin = std::min(begin, g.out[1]);
    return {begin, std::clamp(end, begin, g.out[1])};
}

// Pixels [begin, end) of some lines: of one line, or whole lines.
struct Pixels {
    int64_t line, lines, begin, end;
    int64_t of_line() const { return end - begin; }
    int64_t count() const { return lines * of_line(); }
};

// Neighbours in a line with equal tap distances, and the addresses of the first one's taps.
struct Neighbours {
    int64_t first, count;  // pixels
    bool is_inner;         // the columns of windows are inside the image
    std::vector<const uint8_t*> taps;
};
std::vector<Neighbours> neighbours_in(const DepthwiseRun& run, const Pixels& pixels) {
    Span inner = inner_pixels(run.d.g);
    std::vector<Neighbours> all;
    for (int64_t i = 0; i < pixels.count(); i += all.back().count) {
        const int64_t ow = pixels.begin + i % pixels.of_line();
        bool is_inner = ow >= inner.begin && ow < inner.end;
        all.push_back({i, is_inner ? std::min(pixels.end, inner.end) - ow : 1, is_inner, {}});
        all.back().taps.resize(size_t(run.d.filled_taps()));
        point_at_taps(run, pixels.line + i / pixels.of_line(), ow, all.back().taps);
    }
    return all;
}

// At most longest_row pixels.
void run_pixels(const DepthwiseRun& run, const Pixels& pixels) {
    auto& d = run.d;
    alignas(64) std::array<int32_t, size_t(longest_row * together)> sums;
    auto all = neighbours_in(run, pixels);
    const uint8_t* weight = d.weight.data();
    const int64_t pixel = run.first_pixel + pixels.line * d.g.out[1] + pixels.begin;
    for (int64_t c = 0; c < d.channels(); c += together, weight += d.block_bytes()) {
        int64_t channels = std::min(together, d.channels() - c);
        for (auto& some : all) {
            d.kernel->multiply({some.taps, d.g.stride[1] * d.channels(), some.count, channels,
                                d.has_columns() && some.is_inner ? d.column_bytes() : 0, d.is_x_signed,
                                weight, sums.data() + some.first * together});
            for (auto& tap : some.taps) tap += channels;
        }
        finish_block(d.epilogue, run.scales, run.launch,
                     {sums.data(), run.start + c, together, pixels.count(), channels, c,
                      pixel * d.channels() + c, 1, d.channels()});
    }
}

// The start of the sums of each channel, padded to whole blocks.
void fill_start(const Depthwise& d, const ConvScales& scales, int32_t* start) {
    const int32_t zero = scales.x_zero + (d.is_x_signed ? 128 : 0);
    std::fill_n(start, d.blocks() * together, 0);
    for (int64_t c = 0; c < d.channels(); ++c)
        start[c] = (scales.bias ? scales.bias[c] : 0) - zero * d.weight_sums[size_t(c)];
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& d = prepared.state<Depthwise>();
    ConvScales scales(launch);
    auto* outside = static_cast<uint8_t*>(launch.workspace);
    std::fill_n(outside, d.outside_bytes(), uint8_t(scales.x_zero));
    auto* start = reinterpret_cast<int32_t*>(outside + aligned(size_t(d.outside_bytes())));
    fill_start(d, scales, start);
    int64_t lines = d.g.n * d.g.out[0], work = d.g.out[1] * d.channels() * d.filled_taps() / 16;
    int64_t grain = std::max<int64_t>(1, parallel_grain / std::max<int64_t>(1, work));
    par_for(launch.threads, lines, grain, [&](int64_t begin, int64_t end) {
        for (int64_t line = begin, count; line < end; line += count) {
            const int64_t n = line / d.g.out[0], h = line % d.g.out[0], pixels = d.g.in[0] * d.g.in[1];
            count = std::min({end - line, d.g.out[0] - h, d.lines_together()});
            const uint8_t* x = launch.in<uint8_t>(Conv::x) + n * pixels * d.channels();
            DepthwiseRun image{d, launch, scales, x, outside, start, n * d.g.out[0] * d.g.out[1]};
            for (int64_t ow = 0; ow < d.g.out[1]; ow += longest_row)
                run_pixels(image, {h, count, ow, std::min(ow + longest_row, d.g.out[1])});
        }
    });
}

}  // namespace

Algorithm channels_last_depthwise_conv2d() { return {"channels_last_depthwise", supports, prepare, run}; }

}  // namespace mge::ops
