// SPDX-License-Identifier: Apache-2.0
// A depthwise convolution of channels-last images (nhwc) by sums of four products
// (kernel/cpu/convolution/quad_windows.h), one block of channels after the other. The lines under a line of
// y are interleaved once and kept for the next lines. The border needs no copy: it is interleaved, too.

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/convolution/quad_windows.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/packed_values.h"
#include "libmge/ops/quantize/convolution/channels_last.h"
#include "libmge/ops/quantize/convolution/convolution_rows.h"
#include "libmge/ops/quantize/convolution/quad_epilogue.cpu.h"

namespace mge::ops {
namespace {

using Conv = QuantizedConv2d;
constexpr int64_t block_channels = cpu::window_channels;
constexpr int64_t most_entries = 64, most_lines = 64;  // limits for a window

// The common part of blocks of as many channels.
struct BlockShape {
    cpu::EntryFilling filling;
    int64_t apart;    // pixels of y that an entry has are so far apart
    int64_t count;    // windows of a line, each of filling.pixels pixels
    int64_t entries;  // under all windows of a line
};

struct WindowsConv {
    ConvGeometry g;
    ConvEpilogue epilogue;
    bool is_x_signed;
    int64_t threads;
    int64_t line_entries;  // that a line of a window takes
    ShortDivisions short_divisions;
    std::vector<BlockShape> shapes;    // for all blocks but the last, and for the last
    int64_t line_bytes;                // size of the entries, for any block
    PackedValues<int8_t> weight;       // block after block of channels
    std::vector<int32_t> weight_sums;  // per channel

    int64_t channels() const { return g.groups; }
    int64_t blocks() const { return ceil_div(channels(), block_channels); }
    const BlockShape& shape(int64_t block) const { return shapes[block + 1 == blocks() ? 1 : 0]; }
    int64_t window_entries() const { return g.kernel[0] * line_entries; }
    int64_t weight_bytes() const { return window_entries() * cpu::entry_bytes; }
    int64_t kept_lines() const { return (g.kernel[0] - 1) * g.dilation[0] + 1; }
    size_t sum_bytes() const { return aligned(g.out[1] * block_channels * int64_t(sizeof(int32_t))); }
    size_t scratch_bytes() const { return aligned(kept_lines() * line_bytes) + sum_bytes(); }
    size_t channel_bytes() const { return aligned(blocks() * block_channels * int64_t(sizeof(float))); }
    size_t workspace() const {
        return 2 * channel_bytes() + aligned(line_bytes) + size_t(threads) * scratch_bytes();
    }
};

Support supports(const Problem& problem) {
    if (auto images = channels_last_images(problem); !images) return images;
    if (!cpu::has_quads()) return {"a processor with AVX-512 VNNI only"};
    const auto g = quantised_geometry(problem);
    if (g.ic != 1 || g.oc != 1) return {"one channel in each group only"};
    const int64_t height = (g.kernel[0] - 1) * g.dilation[0] + 1,
                  width = (g.kernel[1] - 1) * g.dilation[1] + 1;
    const bool is_small =
        height <= most_lines && g.kernel[0] * ceil_div(width + 1, cpu::entry_pixels) <= most_entries;
    return is_small ? supported : Support{"a smaller window only"};
}

// Pixels of an entry that are far apart are so by whole pairs: their windows begin alike in their entries.
BlockShape shape_of(const WindowsConv& c, int64_t channels) {
    const cpu::EntryFilling filling(channels);
    const int64_t width = c.g.out[1], apart = round_up(ceil_div(width, filling.pixels), 2);
    const int64_t count = filling.pixels == 1 ? width : std::min(apart, width);
    return {filling, apart, count,
            (count - 1) * c.g.stride[1] / cpu::entry_step + 2 * (c.line_entries - 1) + 1};
}

void pack_weight(WindowsConv& c, const int8_t* weight) {
    auto& g = c.g;
    const int64_t taps = g.kernel[0] * g.kernel[1];
    c.weight = PackedValues<int8_t>(c.blocks() * 2 * c.weight_bytes());
    c.weight_sums.resize(size_t(c.channels()));
    for (int64_t i = 0; i < c.channels(); ++i)
        for (int64_t tap = 0; tap < taps; ++tap) c.weight_sums[size_t(i)] += weight[i * taps + tap];
    for (int64_t block = 0; block < c.blocks(); ++block) {
        const auto& filling = c.shape(block).filling;
        for (int64_t begin = 0; begin < cpu::entry_step; ++begin)
            for (int64_t tap = 0; tap < taps; ++tap) {
                const int64_t kh = tap / g.kernel[1], across = tap % g.kernel[1] * g.dilation[1] + begin;
                int8_t* entry = c.weight.data() + (2 * block + begin) * c.weight_bytes() +
                                (kh * c.line_entries + across / cpu::entry_pixels) * cpu::entry_bytes;
                for (int64_t sum = 0; sum < block_channels; ++sum) {
                    const int64_t channel = cpu::channel_of_sum(filling, sum);
                    if (channel < filling.channels)
                        entry[cpu::place_of_weight(sum, across % cpu::entry_pixels)] =
                            weight[(block * block_channels + channel) * taps + tap];
                }
            }
    }
}

Prepared prepare(const PrepareContext& context) {
    auto& problem = context.problem;
    WindowsConv c{.g = quantised_geometry(problem),
                  .epilogue = ConvEpilogue(problem),
                  .is_x_signed = problem.inputs[Conv::x].dtype == DType::i8,
                  .threads = problem.threads,
                  .short_divisions = short_divisions(context)};
    const int64_t width = (c.g.kernel[1] - 1) * c.g.dilation[1] + 1, begins = c.g.stride[1] % 2 ? 1 : 0;
    c.line_entries = ceil_div(width + begins, cpu::entry_pixels);
    const int64_t last_channels = c.channels() - (c.blocks() - 1) * block_channels;
    for (int64_t channels : {block_channels, last_channels}) c.shapes.push_back(shape_of(c, channels));
    c.line_bytes = std::max(c.shapes[0].entries, c.shapes[1].entries) * cpu::entry_bytes;
    pack_weight(c, static_cast<const int8_t*>(context.constants[Conv::weight]));
    PackedInputs packed{{c.weight.piece()}, 1u << Conv::weight};
    size_t workspace = c.workspace();
    return Prepared::make(std::move(c), workspace, std::move(packed));
}

// Common part of all lines of an image.
struct WindowsRun {
    const WindowsConv& c;
    const Launch& launch;
    const ConvScales& scales;
    const std::optional<cpu::QuadSteps>& steps;
    const int32_t* start;  // for the sums of a block after the other
    const float* scale;    // likewise
    const uint8_t* x;
    const uint8_t* outside;  // entries of a line outside of the image
    uint8_t border;
    int64_t first_pixel;  // the image's first pixel in all of y
};

// The lines of a block that are interleaved: line h of the image at h modulo their number.
class KeptLines {
public:
    KeptLines(const WindowsRun& run, int64_t block, uint8_t* memory)
        : run_(run),
          x_(run.x + block * block_channels),
          shape_(run.c.shape(block)),
          kept_(run.c.kept_lines()),
          memory_(memory) {
        std::fill_n(held_.begin(), kept_, -1);
    }

    // The entries of line h, which may be outside.
    const uint8_t* line(int64_t h) {
        auto& g = run_.c.g;
        if (h < 0 || h >= g.in[0]) return run_.outside;
        const int64_t place = h % kept_, channels = run_.c.channels();
        uint8_t* to = memory_ + place * run_.c.line_bytes;
        if (held_[size_t(place)] == h) return to;
        held_[size_t(place)] = h;
        cpu::interleave_line(shape_.filling,
                             {.x = x_ + h * g.in[1] * channels,
                              .width = g.in[1],
                              .pixel_bytes = channels,
                              .first = -g.padding[1],
                              .entries = shape_.entries,
                              .apart = shape_.apart * g.stride[1],
                              .is_signed = run_.c.is_x_signed,
                              .outside = run_.border},
                             to);
        return to;
    }

private:
    const WindowsRun& run_;
    const uint8_t* x_;
    const BlockShape& shape_;
    int64_t kept_;
    uint8_t* memory_;
    std::array<int64_t, size_t(most_lines)> held_;
};

void finish_line(const WindowsRun& run, int64_t block, int64_t oh, const int32_t* sums) {
    auto& c = run.c;
    const auto& [filling, apart, count, entries] = c.shape(block);
    alignas(64) static constexpr std::array<int32_t, size_t(block_channels)> nothing{};
    const int64_t channel = block * block_channels;
    for (int64_t i = 0; i < filling.pixels && i * apart < c.g.out[1]; ++i) {
        const int64_t pixel = run.first_pixel + oh * c.g.out[1] + i * apart;
        finish_block(c.epilogue, run.scales, run.launch,
                     {sums + i * filling.channels_of_pixel(), nothing.data(), block_channels,
                      std::min(count, c.g.out[1] - i * apart), filling.channels, channel,
                      pixel * c.channels() + channel, 1, c.channels()});
    }
}

void run_line(const WindowsRun& run, int64_t block, int64_t oh, KeptLines& lines, int32_t* sums) {
    auto& c = run.c;
    auto& g = c.g;
    std::array<const uint8_t*, size_t(most_entries)> entries;
    size_t n = 0;
    for (int64_t kh = 0; kh < g.kernel[0]; ++kh) {
        const uint8_t* line = lines.line(oh * g.stride[0] - g.padding[0] + kh * g.dilation[0]);
        for (int64_t i = 0; i < c.line_entries; ++i) entries[n++] = line + 2 * i * cpu::entry_bytes;
    }
    const BlockShape& shape = c.shape(block);
    const int64_t channel = block * block_channels;
    cpu::QuadWindows windows{.filling = shape.filling,
                             .entries = {entries.data(), n},
                             .step = g.stride[1],
                             .count = shape.count,
                             .weight = c.weight.data() + 2 * block * c.weight_bytes(),
                             .weight_of_second = c.weight_bytes(),
                             .start = run.start + channel,
                             .scale = run.scale + channel,
                             .y_stride = c.channels(),
                             .apart = shape.apart,
                             .width = g.out[1]};
    if (run.steps) {
        windows.y = run.launch.out<uint8_t>(0) + (run.first_pixel + oh * g.out[1]) * c.channels() + channel;
        return cpu::multiply_windows(windows, *run.steps);
    }
    cpu::multiply_windows(windows, sums);
    finish_line(run, block, oh, sums);
}

// Threads divide the lines, or the channels where the 1×1 convolution before does (divides_blocks in
// channels_last_direct.cpu.cpp), so that a thread reads the bytes that it has just written.
void run_image(const WindowsRun& run, uint8_t* scratch) {
    auto& c = run.c;
    const int64_t lines = c.g.out[0], pixels = lines * c.g.out[1];
    const bool by_blocks = c.channels() > channels_per_pixel * pixels;
    // In nanoseconds: an entry of a window takes 0.07 to 0.14 for each channel on a Zen 4.
    const int64_t work = pixels * c.channels() * c.window_entries() / 10;
    const int64_t shares =
        work < parallel_grain / 2 ? 1 : std::min(c.threads, by_blocks ? c.blocks() : lines);
    par_for(int(shares), shares, 1, [&](int64_t begin, int64_t end) {
        for (int64_t share = begin; share < end; ++share) {
            const auto [rows, blocks] = share_of(lines, c.blocks(), by_blocks, share, shares);
            uint8_t* memory = scratch + share * int64_t(c.scratch_bytes());
            auto* sums = reinterpret_cast<int32_t*>(memory + c.scratch_bytes() - c.sum_bytes());
            for (int64_t block = blocks.begin; block < blocks.end; ++block) {
                KeptLines kept(run, block, memory);
                for (int64_t oh = rows.begin; oh < rows.end; ++oh) run_line(run, block, oh, kept, sums);
            }
        }
    });
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& c = prepared.state<WindowsConv>();
    const ConvScales scales(launch);
    auto* memory = static_cast<uint8_t*>(launch.workspace);
    auto* start = reinterpret_cast<int32_t*>(memory);
    auto* scale = reinterpret_cast<float*>(memory + c.channel_bytes());
    uint8_t* outside = memory + 2 * c.channel_bytes();
    const int32_t zero = scales.x_zero + (c.is_x_signed ? 128 : 0);
    for (int64_t block = 0; block < c.blocks(); ++block) {
        const auto& filling = c.shape(block).filling;
        for (int64_t i = 0; i < block_channels; ++i) {
            const int64_t in_block = cpu::channel_of_sum(filling, i),
                          channel = block * block_channels + in_block;
            const int64_t at = block * block_channels + i;
            const bool is_used = in_block < filling.channels;
            start[at] = is_used
                            ? (scales.bias ? scales.bias[channel] : 0) - zero * c.weight_sums[size_t(channel)]
                            : 0;
            if (!c.epilogue.is_exact)
                scale[at] = scales.scale[c.epilogue.is_per_channel && is_used ? channel : 0];
        }
    }
    std::fill_n(outside, c.line_bytes, uint8_t(zero));
    auto steps = quad_steps_of(c.epilogue, scales, c.channels(), c.short_divisions);
    if (steps && !steps->is_plain()) steps.reset();  // windows have no operands beside their sums
    const int64_t pixels = c.g.out[0] * c.g.out[1], image_bytes = c.g.in[0] * c.g.in[1] * c.channels();
    for (int64_t n = 0; n < c.g.n; ++n)
        run_image({c, launch, scales, steps, start, scale, launch.in<uint8_t>(Conv::x) + n * image_bytes,
                   outside, uint8_t(zero), n * pixels},
                  outside + aligned(c.line_bytes));
}

}  // namespace

Algorithm channels_last_windows_conv2d() { return {"channels_last_windows", supports, prepare, run}; }

}  // namespace mge::ops
