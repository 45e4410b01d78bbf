// SPDX-License-Identifier: Apache-2.0
// A convolution with 3x3 windows and stride 1 of channels-last images (nhwc), by Winograd's transform in
// integers (kernel/cpu/convolution/integer_winograd.h): a quarter of the products, bit-identical. Tiles of
// 4x4 pixels of y are processed in chunks, some lines of tiles or a part of one, as many as have their points
// in the L2 cache. If the sums over all channels of x could be too large for the transform, they are divided
// into parts, whose sums are added up.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/convolution/integer_winograd.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/product/byte_product.h"
#include "libmge/kernel/cpu/product/quad_product.h"
#include "libmge/kernel/packed_values.h"
#include "libmge/ops/quantize/convolution/channels_last.h"
#include "libmge/ops/quantize/convolution/convolution_rows.h"

namespace mge::ops {
namespace {

using Conv = QuantizedConv2d;
constexpr int64_t columns = cpu::product_columns, side = cpu::integer_tile_side, points = cpu::integer_points;
constexpr int64_t together = cpu::integer_winograd_channels;
constexpr int64_t chunk_bytes = 320 << 10;            // size of the points of a chunk of the image
constexpr int64_t fewest_tiles = 6, most_tiles = 24;  // per chunk
constexpr int64_t largest_step = 255;                 // largest step of x, minus the zero point

struct IntegerWinogradConv {
    ConvGeometry g;
    ConvEpilogue epilogue;
    bool is_x_signed;
    int64_t threads;
    int64_t lines, across;               // tiles of an image
    int64_t line_chunks, across_chunks;  // how many parts they are divided into
    std::vector<Part> parts;             // parts of the channels of x
    PackedValues<int16_t> weight;  // part after part, block after block of channels of y, point after point

    int64_t blocks() const { return ceil_div(g.oc, columns); }
    int64_t chunks() const { return line_chunks * across_chunks; }
    int64_t chunk_lines() const { return ceil_div(lines, line_chunks); }
    int64_t chunk_across() const { return ceil_div(across, across_chunks); }
    int64_t chunk_tiles() const { return chunk_lines() * chunk_across(); }
    // For one thread: the points of the image, of a block of products, and the block's sums.
    size_t image_bytes() const { return aligned(points * chunk_tiles() * g.ic * int64_t(sizeof(int16_t))); }
    size_t block_bytes(int64_t tile_elements) const {
        return aligned(chunk_tiles() * tile_elements * columns * int64_t(sizeof(int32_t)));
    }
    size_t scratch_bytes() const { return image_bytes() + block_bytes(points) + block_bytes(side * side); }
    size_t outside_bytes() const { return aligned(g.ic); }
    size_t workspace() const { return outside_bytes() + size_t(threads) * scratch_bytes(); }
};

Support supports(const Problem& problem) {
    if (auto images = channels_last_images(problem); !images) return images;
    if (cpu::has_quads() || cpu::dot_product()) return {"a processor without products of bytes only"};
    auto g = quantised_geometry(problem);
    constexpr Pair one{1, 1};
    if (g.groups != 1) return {"one group only"};
    if (!(g.kernel == Pair{3, 3}) || !(g.stride == one) || !(g.dilation == one))
        return {"windows of 3x3 neighbours that step by one only"};
    if (g.ic % together != 0) return {"multiples of 16 channels of x only"};
    // Its weight has eight times the bytes.
    bool is_small = ceil_div(g.out[0], side) * ceil_div(g.out[1], side) < fewest_tiles;
    return is_small ? Support{"few tiles: reading the weight takes longer than the products"} : supported;
}

using Window = std::array<int8_t, 9>;
Window window_at(const int8_t* weight, const ConvGeometry& g, int64_t oc, int64_t ic) {
    Window w;
    std::copy_n(weight + (oc * g.ic + ic) * int64_t(w.size()), w.size(), w.begin());
    return w;
}

// As many channels of x a part as cannot make a sum too large.
std::vector<Part> parts_of(const ConvGeometry& g, const int8_t* weight) {
    std::vector<Part> parts{{0, 0}};
    std::vector<int64_t> largest(size_t(g.oc)), added(size_t(g.oc));
    for (int64_t first = 0; first < g.ic; first += together) {
        std::ranges::fill(added, 0);
        for (int64_t oc = 0; oc < g.oc; ++oc)
            for (int64_t ic = first; ic < first + together; ++ic)
                for (int8_t w : window_at(weight, g, oc, ic)) added[size_t(oc)] += largest_step * std::abs(w);
        bool fits = true;
        for (size_t oc = 0; oc < added.size(); ++oc)
            fits &= largest[oc] + added[oc] < cpu::integer_winograd_limit;
        if (!fits) {
            parts.push_back({first, first});
            std::ranges::fill(largest, 0);
        }
        parts.back().end = first + together;
        for (size_t oc = 0; oc < added.size(); ++oc) largest[oc] += added[oc];
    }
    return parts;
}

// Each point of a block is a weight as ByteProduct has them, in words of two.
void pack_weight(IntegerWinogradConv& c, const int8_t* weight) {
    auto& product = *cpu::pair_product();
    int64_t word = product.word, panel = product.panel;
    c.weight = PackedValues<int16_t>(c.blocks() * columns * points * c.g.ic);
    for (Part part : c.parts) {
        int16_t* first = c.weight.data() + part.begin * c.blocks() * columns * points;
        for (int64_t oc = 0; oc < c.g.oc; ++oc)
            for (int64_t ic = part.begin; ic < part.end; ++ic) {
                auto w = cpu::integer_weight_points(window_at(weight, c.g, oc, ic));
                int64_t k = ic - part.begin, column = oc % columns;
                int64_t at = column / panel * panel * part.size() + k / word * panel * word +
                             column % panel * word + k % word;
                for (int64_t p = 0; p < points; ++p)
                    first[(oc / columns * points + p) * columns * part.size() + at] = w[size_t(p)];
            }
    }
}

Prepared prepare(const PrepareContext& context) {
    auto& problem = context.problem;
    IntegerWinogradConv c{.g = quantised_geometry(problem),
                          .epilogue = ConvEpilogue(problem),
                          .is_x_signed = problem.inputs[Conv::x].dtype == DType::i8,
                          .threads = problem.threads};
    auto& g = c.g;
    c.lines = ceil_div(g.out[0], side);
    c.across = ceil_div(g.out[1], side);
    int64_t tile_bytes = points * g.ic * int64_t(sizeof(int16_t));
    int64_t most = std::clamp(chunk_bytes / tile_bytes, fewest_tiles, most_tiles);
    c.across_chunks = ceil_div(c.across, most);
    c.line_chunks = c.across_chunks > 1 ? c.lines : ceil_div(c.lines, most / c.across);
    auto* weight = static_cast<const int8_t*>(context.constants[Conv::weight]);
    c.parts = parts_of(g, weight);
    pack_weight(c, weight);
    PackedInputs packed{{c.weight.piece()}, 1u << Conv::weight};
    size_t workspace = c.workspace();
    return Prepared::make(std::move(c), workspace, std::move(packed));
}

// Common part of all chunks of an image.
struct ImageRun {
    const IntegerWinogradConv& c;
    const Launch& launch;
    const ConvScales& scales;
    const uint8_t *x, *outside;  // the image, a pixel outside of it
    int64_t first_pixel;         // the image's first pixel in all of y
};
// Tiles of an image, and a thread's memory for them.
struct Chunk {
    Part lines, across;
    int16_t* image;
    int32_t *products, *sums;

    int64_t tiles() const { return lines.size() * across.size(); }
};

void find_points(const ImageRun& run, const Chunk& chunk) {
    auto& g = run.c.g;
    std::array<const uint8_t*, size_t(points)> pixels;
    int16_t* to = chunk.image;
    for (int64_t line = chunk.lines.begin; line < chunk.lines.end; ++line)
        for (int64_t column = chunk.across.begin; column < chunk.across.end; ++column, to += g.ic) {
            for (int64_t p = 0; p < points; ++p) {
                int64_t h = line * side - g.padding[0] + p / cpu::integer_window_side;
                int64_t w = column * side - g.padding[1] + p % cpu::integer_window_side;
                bool is_inside = h >= 0 && h < g.in[0] && w >= 0 && w < g.in[1];
                pixels[size_t(p)] = is_inside ? run.x + (h * g.in[1] + w) * g.ic : run.outside;
            }
            cpu::integer_winograd().image_points(pixels, g.ic, run.c.is_x_signed, run.scales.x_zero, to,
                                                 chunk.tiles() * g.ic);
        }
}

// The products of all tiles with one block's channels, of one part of the channels of x.
void multiply_points(const ImageRun& run, const Chunk& chunk, int64_t block, Part part) {
    auto& c = run.c;
    auto* multiply = cpu::multiply_pairs();
    int64_t tiles = chunk.tiles(), groups = ceil_div(tiles, cpu::pair_product()->rows);
    int64_t weight_size = columns * part.size();
    const int16_t* weight =
        c.weight.data() + part.begin * c.blocks() * columns * points + block * points * weight_size;
    const std::array<int64_t, 1> whole{0};
    for (int64_t p = 0; p < points; ++p, weight += weight_size)
        for (int64_t i = 0; i < groups; ++i) {
            Part rows = share_of(tiles, i, groups);
            const int16_t* from = chunk.image + (p * tiles + rows.begin) * c.g.ic + part.begin;
            multiply({.first = reinterpret_cast<const uint8_t*>(from),
                      .stride = c.g.ic * int64_t(sizeof(int16_t)),
                      .parts = whole,
                      .part_bytes = part.size() * int64_t(sizeof(int16_t)),
                      .count = rows.size(),
                      .columns = std::min(columns, c.g.oc - block * columns)},
                     weight, chunk.products + (p * tiles + rows.begin) * columns);
        }
}

// Sums are stored as lines of pixels, `width` apart.
void sum_up(const ImageRun& run, const Chunk& chunk, int64_t block, bool is_added) {
    int64_t width = chunk.across.size() * side, channels = std::min(columns, run.c.g.oc - block * columns);
    for (int64_t tile = 0; tile < chunk.tiles(); ++tile) {
        int64_t line = tile / chunk.across.size(), column = tile % chunk.across.size();
        cpu::integer_winograd().sums(chunk.products + tile * columns, chunk.tiles() * columns, channels,
                                     is_added, chunk.sums + (line * width + column) * side * columns,
                                     width * columns);
    }
}

void finish_chunk(const ImageRun& run, const Chunk& chunk, int64_t block) {
    auto& g = run.c.g;
    int64_t width = chunk.across.size() * side, first_channel = block * columns;
    int64_t channels = std::min(columns, g.oc - first_channel);
    alignas(64) std::array<int32_t, columns> start{};
    if (run.scales.bias) std::copy_n(run.scales.bias + first_channel, channels, start.begin());
    int64_t ow = chunk.across.begin * side, kept = std::min(width, g.out[1] - ow);
    int64_t last = std::min(chunk.lines.end * side, g.out[0]);
    for (int64_t oh = chunk.lines.begin * side; oh < last; ++oh) {
        const int32_t* sums = chunk.sums + (oh - chunk.lines.begin * side) * width * columns;
        int64_t y = (run.first_pixel + oh * g.out[1] + ow) * g.oc + first_channel;
        finish_block(run.c.epilogue, run.scales, run.launch,
                     {sums, start.data(), columns, kept, channels, first_channel, y, 1, g.oc});
    }
}

void run_chunk(const ImageRun& run, const Chunk& chunk, Part blocks) {
    find_points(run, chunk);
    for (int64_t block = blocks.begin; block < blocks.end; ++block) {
        for (Part part : run.c.parts) {
            multiply_points(run, chunk, block, part);
            sum_up(run, chunk, block, part.begin > 0);
        }
        finish_chunk(run, chunk, block);
    }
}

// Threads divide the chunks where there are enough of them, else the channels.
void run_image(const ImageRun& run, uint8_t* scratch) {
    auto& c = run.c;
    bool is_small = c.g.out[0] * c.g.out[1] * c.g.oc * c.g.ic < 16 * parallel_grain;
    bool by_blocks = c.chunks() < 2 * c.threads && c.blocks() > 1;
    int64_t shares = is_small ? 1 : std::min(c.threads, by_blocks ? c.blocks() : c.chunks());
    par_for(int(shares), shares, 1, [&](int64_t begin, int64_t end) {
        for (int64_t share = begin; share < end; ++share) {
            const auto [chunks, blocks] = share_of(c.chunks(), c.blocks(), by_blocks, share, shares);
            uint8_t *image = scratch + size_t(share) * c.scratch_bytes(), *products = image + c.image_bytes();
            uint8_t* sums = products + c.block_bytes(points);
            for (int64_t i = chunks.begin; i < chunks.end; ++i)
                run_chunk(run,
                          {share_of(c.lines, i / c.across_chunks, c.line_chunks),
                           share_of(c.across, i % c.across_chunks, c.across_chunks),
                           reinterpret_cast<int16_t*>(image), reinterpret_cast<int32_t*>(products),
                           reinterpret_cast<int32_t*>(sums)},
                          blocks);
        }
    });
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& c = prepared.state<IntegerWinogradConv>();
    ConvScales scales(launch);
    auto* outside = static_cast<uint8_t*>(launch.workspace);
    std::fill_n(outside, c.g.ic, uint8_t(scales.x_zero));
    for (int64_t n = 0; n < c.g.n; ++n) {
        const uint8_t* x = launch.in<uint8_t>(Conv::x) + n * c.g.ic * c.g.in[0] * c.g.in[1];
        run_image({c, launch, scales, x, outside, n * c.g.out[0] * c.g.out[1]}, outside + c.outside_bytes());
    }
}

}  // namespace

Algorithm channels_last_winograd_conv2d() { return {"channels_last_winograd", supports, prepare, run}; }

}  // namespace mge::ops
