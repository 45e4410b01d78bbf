// SPDX-License-Identifier: Apache-2.0
// A direct convolution of channels-last images (nhwc) by sums of four products or by matrix instructions
// (kernel/cpu/product/quad_product.h). A row of the product is a pixel of y, whose window is read where it
// is: the bytes under a line of the window are contiguous. An image that needs a border, or signed values
// that the unit does not take, are copied first. A tile consists of up to 14 or 32 neighbours in a line of y,
// or of two short lines. Its sums are rounded to steps at once if the epilogue permits it. Where short lines
// of windows or of y would leave much of the matrices empty, the rows of some tiles are gathered.

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/product/line_tiles.h"
#include "libmge/kernel/cpu/product/quad_product.h"
#include "libmge/kernel/packed_values.h"
#include "libmge/ops/quantize/convolution/channels_last.h"
#include "libmge/ops/quantize/convolution/convolution_rows.h"
#include "libmge/ops/quantize/convolution/quad_epilogue.cpu.h"

namespace mge::ops {
namespace {

using Conv = QuantizedConv2d;
constexpr int64_t columns = cpu::quad_columns, word = cpu::quad_word;
// The rows of a chunk are multiplied with one block of channels after the other. Their bytes stay in the L1
// cache if the weight stays in the L2 cache; otherwise the weight is read once for as many rows as that
// holds.
constexpr int64_t near_bytes = 32 << 10, far_bytes = 512 << 10;
// Short copies are made by whole vectors: the last of a row reaches over its end.
constexpr int64_t vector = 16;

struct DirectConv {
    ConvGeometry g;
    ConvEpilogue epilogue;
    const cpu::QuadUnit* unit;
    bool is_x_signed;
    int64_t threads;
    bool is_copied;  // with its border, and as unsigned values if the unit takes no others
    // The lines of a window, or if pixels are dilated, each pixel: where they are, and their bytes.
    std::vector<int64_t> window;
    int64_t window_bytes;
    bool is_gathered;
    std::vector<int64_t> parts, gathered_parts;  // those of a row, and of one that is gathered
    int64_t part_bytes, part_step;               // with what fills it up; from one part's weight to the next
    cpu::LineTiles tiles;
    ShortDivisions short_divisions;
    PackedValues<int8_t> weight;       // block after block of channels
    std::vector<int32_t> weight_sums;  // per channel

    int64_t k() const { return int64_t(parts.size()) * part_bytes; }
    int64_t blocks() const { return ceil_div(g.oc, columns); }
    int64_t width() const { return g.in[1] + 2 * g.padding[1]; }
    int64_t height() const { return g.in[0] + 2 * g.padding[0]; }
    int64_t line_bytes() const { return width() * g.ic; }
    bool flips_sign() const { return is_x_signed && !unit->takes_signed; }
    // The bytes that a tile reads and writes.
    int64_t tile_bytes() const {
        const int64_t x = is_gathered ? k() : g.stride[0] * g.stride[1] * g.ic;
        const int64_t residual = epilogue.residual_dtype == DType::none ? 0 : g.oc;
        return std::max<int64_t>(1, unit->rows * (x + g.oc + residual));
    }
    int64_t chunk_tiles(int64_t blocks) const {
        const int64_t weight_bytes = blocks * columns * k();
        return std::max<int64_t>(1, (weight_bytes > far_bytes ? far_bytes : near_bytes) / tile_bytes());
    }
    size_t image_bytes() const { return is_copied ? aligned(height() * line_bytes()) : 0; }
    size_t channel_bytes() const { return aligned(blocks() * columns * int64_t(sizeof(float))); }
    // The last parts may reach over the end of the image: rows with such parts are gathered.
    size_t gathered_bytes() const {
        if (is_gathered) return aligned(chunk_tiles(blocks()) * unit->rows * k() + vector);
        return part_bytes == window_bytes ? 0 : aligned(unit->rows * k());
    }
    size_t workspace() const {
        return image_bytes() + 3 * channel_bytes() + size_t(threads) * gathered_bytes();
    }
};

Support supports(const Problem& problem) {
    if (auto images = channels_last_images(problem); !images) return images;
    if (!cpu::has_quads()) return {"a processor with AVX-512 VNNI only"};
    return quantised_geometry(problem).groups == 1 ? supported : Support{"one group only"};
}

std::vector<const cpu::QuadUnit*> units() {
    std::vector<const cpu::QuadUnit*> all{cpu::quad_matrices(), cpu::quad_vectors()};
    std::erase(all, nullptr);
    return all;
}
std::string name_of(const cpu::QuadUnit& unit) { return std::string("channels_last_direct:") + unit.name; }

std::vector<Candidate> candidates(const Problem&) {
    std::vector<Candidate> list;
    for (auto* unit : units()) list.push_back({name_of(*unit)});
    return list;
}

// The parts of rows, and the pieces of lines: if rows are gathered, of one line of all pixels.
void divide_lines(DirectConv& c, bool is_gathered) {
    c.is_gathered = is_gathered;
    const auto count = int64_t(c.window.size());
    c.part_bytes = round_up(is_gathered ? count * c.window_bytes : c.window_bytes, c.unit->depth);
    c.part_step = is_gathered ? c.window_bytes : c.part_bytes;
    c.parts = is_gathered ? std::vector<int64_t>{0} : c.window;
    c.gathered_parts.clear();
    for (size_t i = 0; i < c.parts.size(); ++i) c.gathered_parts.push_back(int64_t(i) * c.part_bytes);
    auto& out = c.g.out;
    c.tiles = is_gathered ? cpu::LineTiles(1, out[0] * out[1], c.unit->rows)
                          : cpu::LineTiles(out[0], out[1], c.unit->rows);
}

DirectConv describe(const Problem& problem, const cpu::QuadUnit& unit) {
    DirectConv c{.g = quantised_geometry(problem),
                 .epilogue = ConvEpilogue(problem),
                 .unit = &unit,
                 .is_x_signed = problem.inputs[Conv::x].dtype == DType::i8,
                 .threads = problem.threads};
    auto& g = c.g;
    constexpr Pair none{0, 0}, one{1, 1};
    c.is_copied = c.flips_sign() || !(g.padding == none);
    if (is_product(g) || (g.kernel == one && g.stride == one && g.padding == none)) {
        // All pixels are neighbours.
        g.in = {1, g.n * g.in[0] * g.in[1]};
        g.out = g.in;
        g.n = 1;
        g.stride = one;
    }
    const bool is_dense = g.dilation[1] == 1;
    c.window_bytes = is_dense ? g.kernel[1] * g.ic : g.ic;
    for (int64_t kh = 0; kh < g.kernel[0]; ++kh)
        for (int64_t kw = 0; kw < (is_dense ? 1 : g.kernel[1]); ++kw)
            c.window.push_back(kh * g.dilation[0] * c.line_bytes() + kw * g.dilation[1] * g.ic);
    divide_lines(c, false);
    const DirectConv direct = c;
    divide_lines(c, true);
    const bool is_wasteful = 2 * direct.tiles.count() * direct.k() > 3 * c.tiles.count() * c.k();
    return unit.depth > word && is_wasteful ? c : direct;
}

// The weight of a channel in the order of a row's bytes. Those that fill up parts are left as they are.
void order_as_row(const DirectConv& c, const int8_t* weight, int8_t* row) {
    const int64_t taps = c.g.kernel[0] * c.g.kernel[1];
    const bool is_dense = c.g.dilation[1] == 1;
    if (taps == 1) return void(std::memcpy(row, weight, size_t(c.g.ic)));
    for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t kh = tap / c.g.kernel[1], kw = tap % c.g.kernel[1];
        int8_t* to = row + (is_dense ? kh * c.part_step + kw * c.g.ic : tap * c.part_step);
        for (int64_t ic = 0; ic < c.g.ic; ++ic) to[ic] = weight[ic * taps + tap];
    }
}

// In the order of QuadTile; the padding is 0. `rows` has a row for each channel of a block.
void pack_block(DirectConv& c, const int8_t* weight, int64_t block, int8_t* rows) {
    const int64_t first = block * columns, channels = std::min(columns, c.g.oc - first);
    const int64_t across = channels > cpu::quad_lanes ? columns : cpu::quad_lanes;
    const int64_t bytes = c.g.ic * c.g.kernel[0] * c.g.kernel[1], length = c.k();
    for (int64_t i = 0; i < channels; ++i) {
        const int8_t* from = weight + (first + i) * bytes;
        c.weight_sums[size_t(first + i)] = std::accumulate(from, from + bytes, int32_t(0));
        order_as_row(c, from, rows + i * length);
    }
    int8_t* to = c.weight.data() + first * length;
    for (int64_t k = 0; k < length; k += word, to += across * word)
        for (int64_t i = 0; i < channels; ++i)
            std::memcpy(to + i * word, rows + i * length + k, size_t(word));
}

void pack_weight(DirectConv& c, const int8_t* weight) {
    c.weight = PackedValues<int8_t>(c.blocks() * columns * c.k());
    c.weight_sums.resize(size_t(c.g.oc));
    const int64_t grain = parallel_grain / std::max<int64_t>(1, columns * c.k()) + 1;
    par_for(int(c.threads), c.blocks(), grain, [&](int64_t begin, int64_t end) {
        std::vector<int8_t> rows(size_t(columns * c.k()));
        for (int64_t block = begin; block < end; ++block) pack_block(c, weight, block, rows.data());
    });
}

Prepared prepare(const PrepareContext& context) {
    auto all = units();
    auto found = std::ranges::find_if(all, [&](auto* u) { return name_of(*u) == context.candidate.name; });
    DirectConv c = describe(context.problem, **found);
    c.short_divisions = short_divisions(context);
    pack_weight(c, static_cast<const int8_t*>(context.constants[Conv::weight]));
    PackedInputs packed{{c.weight.piece()}, 1u << Conv::weight};
    size_t workspace = c.workspace();
    return Prepared::make(std::move(c), workspace, std::move(packed));
}

// Common part of all tiles of an image.
struct DirectRun {
    const DirectConv& c;
    const Launch& launch;
    const ConvScales& scales;
    const std::optional<cpu::QuadSteps>& steps;
    const int32_t* start;        // per channel, padded to whole blocks
    const float *scale, *shift;  // likewise
    const uint8_t *x, *end;      // the image, or its copy
    int64_t first_pixel;         // the image's first pixel in all of y
    uint8_t* gathered;           // a tile's rows, for each thread
};

void copy_line(const uint8_t* from, uint8_t* to, int64_t n, bool is_signed) {
    if (!is_signed) return void(std::memcpy(to, from, size_t(n)));
    for (int64_t i = 0; i < n; ++i) to[i] = from[i] ^ 128;
}

void copy_image(const DirectConv& c, const Launch& launch, const uint8_t* x, uint8_t border, uint8_t* to) {
    const int64_t line = c.line_bytes(), side = c.g.padding[1] * c.g.ic, inner = c.g.in[1] * c.g.ic;
    const int64_t grain = std::max<int64_t>(1, 8 * parallel_grain / std::max<int64_t>(1, line));
    par_for(launch.threads, c.height(), grain, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            uint8_t* y = to + row * line;
            const int64_t h = row - c.g.padding[0];
            if (h < 0 || h >= c.g.in[0]) {
                std::memset(y, border, size_t(line));
                continue;
            }
            std::memset(y, border, size_t(side));
            copy_line(x + h * inner, y + side, inner, c.flips_sign());
            std::memset(y + side + inner, border, size_t(side));
        }
    });
}

// The product of a tile with a block of channels, but for the tile's place.
cpu::QuadTile tile_of_block(const DirectRun& run, int64_t block) {
    auto& c = run.c;
    const int64_t first_channel = block * columns;
    return {.part_bytes = c.part_bytes,
            .columns = std::min(columns, c.g.oc - first_channel),
            .is_signed = c.is_x_signed && !c.flips_sign(),
            .weight = c.weight.data() + first_channel * c.k(),
            .start = run.start + first_channel,
            .scale = run.scale + first_channel,
            .shift = run.shift + first_channel,
            .y_stride = c.g.oc};
}

// The parts of a row, one after the other: so many vectors each, or if 0, as many as they need.
template <int vectors>
void gather_row(const DirectConv& c, const uint8_t* from, uint8_t* to) {
    for (int64_t offset : c.window) {
        const int64_t bytes = vectors ? vectors * vector : c.window_bytes;
        for (int64_t at = 0; at < bytes; at += vector) std::memcpy(to + at, from + offset + at, vector);
        to += c.window_bytes;
    }
}
// Reads no byte behind the parts.
void gather_last_row(const DirectConv& c, const uint8_t* from, uint8_t* to) {
    for (int64_t offset : c.window) {
        std::memcpy(to, from + offset, size_t(c.window_bytes));
        to += c.window_bytes;
    }
}
// The rows of neighbours in a line of y.
void gather_neighbours(const DirectRun& run, const uint8_t* from, int64_t count, uint8_t* to) {
    auto& c = run.c;
    const int64_t vectors = ceil_div(c.window_bytes, vector), reach = c.window.back() + vectors * vector;
    const auto gather = vectors == 1 ? gather_row<1> : vectors == 2 ? gather_row<2> : gather_row<0>;
    for (int64_t i = 0; i < count; ++i, from += c.g.stride[1] * c.g.ic, to += c.k())
        (from + reach > run.end ? gather_last_row : gather)(c, from, to);
}

// The rows of a tile at the image's end.
void gather_rows(const DirectRun& run, cpu::QuadTile& tile, uint8_t* to) {
    auto& c = run.c;
    for (int64_t row = 0; row < tile.rows; ++row) {
        const int64_t behind = row - tile.first_rows;
        const uint8_t* from = behind < 0 ? tile.x + row * tile.stride : tile.later + behind * tile.stride;
        for (size_t i = 0; i < c.window.size(); ++i)
            std::memcpy(to + row * c.k() + c.gathered_parts[i], from + c.window[i], size_t(c.window_bytes));
    }
    tile.x = to;
    tile.later = to + tile.first_rows * c.k();
    tile.stride = c.k();
    tile.parts = c.gathered_parts;
}

// The rows of the tiles from `walk` on, one after the other.
void gather_tiles(const DirectRun& run, cpu::TileWalk walk, int64_t tiles, uint8_t* to) {
    auto& c = run.c;
    auto& g = c.g;
    for (int64_t i = 0; i < tiles; ++i, walk.advance()) {
        const cpu::TilePixels pixels = walk.pixels();
        const int64_t end = pixels.first + pixels.count;
        for (int64_t p = pixels.first, count = 0; p < end; p += count, to += count * c.k()) {
            const int64_t line = p / g.out[1], column = p % g.out[1];
            const uint8_t* from = run.x + line * g.stride[0] * c.line_bytes() + column * g.stride[1] * g.ic;
            count = std::min(end - p, g.out[1] - column);
            gather_neighbours(run, from, count, to);
        }
    }
}

// Sets the place of a tile's rows. `gathered` contains those of a gathered tile.
void place_rows(const DirectRun& run, const cpu::TilePixels& pixels, uint8_t* gathered, cpu::QuadTile& tile) {
    auto& c = run.c;
    const int64_t line = c.g.stride[0] * c.line_bytes();
    const bool has_two = pixels.has_two_lines;
    tile.rows = pixels.rows();
    tile.first_rows = pixels.first_rows(c.unit->whole);
    tile.parts = c.parts;
    tile.stride = c.is_gathered ? c.k() : c.g.stride[1] * c.g.ic;
    tile.x = c.is_gathered ? gathered : run.x + pixels.line * line + pixels.first * tile.stride;
    tile.later = tile.x + (has_two ? line : tile.first_rows * tile.stride);
    if (c.is_gathered) return;
    const uint8_t* last = tile.x + (has_two ? line : 0) + (pixels.count - 1) * tile.stride;
    if (last + c.parts.back() + c.part_bytes > run.end) gather_rows(run, tile, gathered);
}

void run_tile(const DirectRun& run, const cpu::TilePixels& pixels, int64_t block, cpu::QuadTile& tile,
              cpu::QuadPending& pending) {
    auto& c = run.c;
    auto& g = c.g;
    const int64_t y =
        (run.first_pixel + pixels.line * c.tiles.line_pixels() + pixels.first) * g.oc + block * columns;
    if (run.steps) {
        tile.y = run.launch.out<uint8_t>(0) + y;
        const int64_t later = (pixels.has_two_lines ? c.tiles.line_pixels() : tile.first_rows) * g.oc;
        tile.y_later = tile.y + later;
        if (run.steps->has_residual) {
            tile.residual = run.launch.in<uint8_t>(Conv::residual) + y;
            tile.residual_later = tile.residual + later;
        }
        return c.unit->steps(tile, *run.steps, pending);
    }
    int32_t* sums = pending.sums[0];
    alignas(64) static constexpr std::array<int32_t, size_t(columns)> nothing{};
    c.unit->sums(tile, sums);
    // The pixels of two whole lines are neighbours, too.
    finish_block(c.epilogue, run.scales, run.launch,
                 {sums, nothing.data(), columns, tile.rows, tile.columns, block * columns, y, 1, g.oc});
}

// A thread's unit of work. While a block is multiplied with the first chunk, the weight of the next one is
// fetched.
void run_part(const DirectRun& run, Part tiles, Part blocks, uint8_t* gathered) {
    auto& c = run.c;
    int64_t rows = 0, first_rows = 0;  // that the unit is prepared for
    cpu::QuadPending pending;
    const int64_t block_bytes = columns * c.k(),
                  fit = c.chunk_tiles(c.is_gathered ? c.blocks() : blocks.size());
    for (Part chunk{tiles.begin, tiles.begin}; chunk.begin < tiles.end; chunk.begin = chunk.end) {
        chunk.end = std::min(tiles.end, chunk.begin + fit);
        const bool is_first = chunk.begin == tiles.begin;
        const int64_t slice = is_first ? ceil_div(block_bytes, chunk.size()) : 0;
        const cpu::TileWalk first(c.tiles, chunk.begin);
        if (c.is_gathered) gather_tiles(run, first, chunk.size(), gathered);
        for (int64_t block = blocks.begin; block < blocks.end; ++block) {
            cpu::QuadTile tile = tile_of_block(run, block);
            tile.next = c.weight.data() + std::min(block + 1, blocks.end - 1) * block_bytes;
            tile.next_step = is_first ? ceil_div(columns * word, chunk.size()) : 0;
            cpu::TileWalk walk = first;
            uint8_t* tile_rows = gathered;
            for (int64_t i = chunk.begin; i < chunk.end; ++i, walk.advance(), tile.next += slice) {
                const cpu::TilePixels pixels = walk.pixels();
                place_rows(run, pixels, tile_rows, tile);
                if (c.is_gathered) tile_rows += tile.rows * c.k();
                if (rows != tile.rows || first_rows != tile.first_rows) c.unit->begin(tile);
                rows = tile.rows;
                first_rows = tile.first_rows;
                run_tile(run, pixels, block, tile, pending);
            }
        }
    }
    if (run.steps) c.unit->finish(*run.steps, pending);
    c.unit->end();
}

// The largest share of equal items, over a fair share.
double unevenness(int64_t items, int64_t threads) {
    return double(ceil_div(items, threads) * threads) / double(items);
}

// Threads divide the pixels, or the channels with their weights. If this layer and the next divide the
// pixels, a thread reads what is in its own cache, so channels must be many more.
bool divides_blocks(const DirectConv& c, int64_t threads) {
    const int64_t count = c.g.out[0] * c.g.out[1];
    if (c.g.oc <= count) return false;
    return c.g.oc > channels_per_pixel * count ||
           unevenness(c.tiles.count(), threads) > unevenness(c.blocks(), threads);
}

void run_image(const DirectRun& run) {
    auto& c = run.c;
    const int64_t count = c.g.out[0] * c.g.out[1];
    const bool is_small = count * c.blocks() * columns * c.k() < 64 * parallel_grain;
    const bool by_blocks = divides_blocks(c, c.threads);
    const int64_t shares = is_small ? 1 : std::min(c.threads, by_blocks ? c.blocks() : c.tiles.count());
    par_for(int(shares), shares, 1, [&](int64_t begin, int64_t end) {
        for (int64_t share = begin; share < end; ++share) {
            const auto [tiles, blocks] = share_of(c.tiles.count(), c.blocks(), by_blocks, share, shares);
            run_part(run, tiles, blocks, run.gathered + share * int64_t(c.gathered_bytes()));
        }
    });
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& c = prepared.state<DirectConv>();
    const ConvScales scales(launch);
    auto* memory = static_cast<uint8_t*>(launch.workspace);
    auto *start = reinterpret_cast<int32_t*>(memory), *last = start + c.blocks() * columns;
    auto* scale = reinterpret_cast<float*>(memory + c.channel_bytes());
    auto* shift = reinterpret_cast<float*>(memory + 2 * c.channel_bytes());
    uint8_t *gathered = memory + 3 * c.channel_bytes(),
            *copy = gathered + size_t(c.threads) * c.gathered_bytes();
    // Bytes of a zero point add the same to all sums of a channel.
    const int32_t zero = scales.x_zero + (c.flips_sign() ? 128 : 0);
    std::fill(start, last, 0);
    for (int64_t i = 0; i < c.g.oc; ++i)
        start[i] = (scales.bias ? scales.bias[i] : 0) - zero * c.weight_sums[size_t(i)];
    if (!c.epilogue.is_exact) {
        std::fill_n(scale, c.blocks() * columns, scales.scale[0]);
        if (c.epilogue.is_per_channel) std::copy_n(scales.scale, c.g.oc, scale);
    }
    std::fill_n(shift, c.blocks() * columns, 0.f);
    if (scales.shift) std::copy_n(scales.shift, c.g.oc, shift);
    const auto steps = quad_steps_of(c.epilogue, scales, c.g.oc, c.short_divisions);
    const int64_t pixels = c.g.out[0] * c.g.out[1];
    for (int64_t n = 0; n < c.g.n; ++n) {
        const uint8_t* x = launch.in<uint8_t>(Conv::x) + n * c.g.ic * c.g.in[0] * c.g.in[1];
        if (c.is_copied) copy_image(c, launch, x, uint8_t(zero), copy);
        const uint8_t* image = c.is_copied ? copy : x;
        run_image({c, launch, scales, steps, start, scale, shift, image, image + c.height() * c.line_bytes(),
                   n * pixels, gathered});
    }
}

}  // namespace

Algorithm channels_last_direct_conv2d() {
    return {"channels_last_direct", supports, prepare, run, {}, candidates};
}

}  // namespace mge::ops
