// SPDX-License-Identifier: Apache-2.0
// A convolution of channels-last images (nhwc), as a product of rows of bytes with a packed weight
// (kernel/cpu/product/byte_product.h). A row consists of the bytes under a window. For 1×1 windows the image
// itself consists of such rows. With stride 1, if a pixel fills whole words of the product, an image with its
// border does: a window has as many parts as taps, and the windows across the end of a line are computed,
// too, and dropped. Otherwise rows are gathered, a chunk at a time. If the product uses i16, values are
// widened and the zero point is subtracted: in gathered rows, or, if the lines of a window are short, in an
// image with its border, whose windows have each line as a part.

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/product/byte_product.h"
#include "libmge/kernel/cpu/product/quad_product.h"
#include "libmge/kernel/packed_values.h"
#include "libmge/ops/nn/convolution/geometry.h"
#include "libmge/ops/quantize/convolution/channels_last.h"
#include "libmge/ops/quantize/convolution/convolution_rows.h"
#include "libmge/ops/quantize/convolution/quad_epilogue.cpu.h"

namespace mge::ops {
namespace {

using Conv = QuantizedConv2d;
constexpr int64_t columns = cpu::product_columns;
constexpr int64_t vector = 16;              // bytes that short runs are copied by
constexpr int64_t most_rows = 96;           // per chunk: whole tiles of 6, 12 and 32
constexpr int64_t chunk_bytes = 192 << 10;  // size of gathered rows, so that they stay in the L2 cache

// Products of fewer elements are not worth measuring rows, and their values often spread widely: convolutions
// that follow one without an activation have few channels.
constexpr int64_t fewest_bounded = 128;

enum class Rows : uint8_t { image, bordered, gathered, lines };

struct ChannelsLast {
    ConvGeometry g;
    ConvEpilogue epilogue;
    const cpu::ByteProduct* product;
    bool is_x_signed;
    Rows rows;
    int64_t images, count;  // how often there are `count` rows, dropped ones included
    int64_t line;           // rows of a line of y, of which the first g.out[1] are kept
    int64_t k, part_bytes;  // sizes of a whole row and of a part
    std::vector<int64_t> parts;
    int64_t chunk_rows;
    int64_t threads;
    PackedValues<int8_t> weight;
    std::vector<int32_t> weight_sums;  // per channel

    int64_t blocks() const { return ceil_div(g.oc, columns); }
    bool is_wide() const { return product->takes_wide; }
    // Sums are those of values less the zero point.
    bool is_centred() const { return is_wide() || product->bounds; }
    int64_t panel_bytes() const {
        return product->bounds ? product->bounds->bytes_of_panel(k) : product->panel * k;
    }
    int64_t block_bytes() const { return columns / product->panel * panel_bytes(); }
    int64_t element() const { return is_wide() ? int64_t(sizeof(int16_t)) : 1; }
    int64_t width() const { return g.in[1] + 2 * g.padding[1]; }
    int64_t height() const { return g.in[0] + 2 * g.padding[0]; }
    // Elements that are multiplied together: those of a line of a window, or of a pixel.
    int64_t line_elements() const { return round_up(g.kernel[1] * g.ic, product->depth); }
    int64_t place_of(int64_t kh, int64_t kw, int64_t ic) const {
        int64_t inside = kw * g.ic + ic;
        return rows == Rows::lines ? kh * line_elements() + inside : kh * g.kernel[1] * g.ic + inside;
    }
    // Windows of dropped rows end behind the image, the last line of a window may.
    int64_t image_bytes() const {
        if (rows == Rows::lines)
            return int64_t(aligned((height() * width() * g.ic + product->depth) * element()));
        if (rows != Rows::bordered) return 0;
        return int64_t(aligned((height() * width() + product->rows) * g.ic + product->depth));
    }
    int64_t gathered_bytes() const {
        int64_t count = rows == Rows::gathered ? chunk_rows : product->rows;
        return int64_t(aligned((count * k + vector) * element()));
    }
    int64_t sums_bytes() const { return chunk_rows * columns * int64_t(sizeof(int32_t)); }
    // Rows of a call of the product. Those of the image may be read beyond its end if they are not whole.
    int64_t rows_together() const {
        return product->takes_tiles && (rows != Rows::image || k == g.ic) ? chunk_rows : product->rows;
    }
    int64_t measures_of_tile() const { return product->bounds ? product->bounds->measures_of_tile(k) : 0; }
    int64_t measures_bytes() const {
        return int64_t(
            aligned(ceil_div(chunk_rows, product->rows) * measures_of_tile() * int64_t(sizeof(float))));
    }
    // For one thread: gathered rows, the sums of a chunk, and the measures of its tiles.
    int64_t scratch_bytes() const { return gathered_bytes() + sums_bytes() + measures_bytes(); }
    size_t workspace() const { return size_t(image_bytes() + threads * scratch_bytes()); }
};

Rows rows_of(const ConvGeometry& g, const cpu::ByteProduct& product) {
    if (product.takes_wide) {
        constexpr int64_t short_line = 64;  // elements; longer ones are gathered in less time
        bool is_short = g.kernel[0] > 1 && g.kernel[1] * g.ic < short_line && g.dilation[1] == 1;
        return is_short && g.out[1] >= 2 * product.rows ? Rows::lines : Rows::gathered;
    }
    bool is_one = g.kernel == Pair{1, 1}, is_dense = g.stride == Pair{1, 1};
    if (is_one && is_dense && g.padding == Pair{0, 0}) return Rows::image;
    return is_dense && (is_one || g.ic % product.depth == 0) ? Rows::bordered : Rows::gathered;
}

ChannelsLast describe(const Problem& problem, const cpu::ByteProduct& product) {
    ChannelsLast c{.g = quantised_geometry(problem),
                   .epilogue = ConvEpilogue(problem),
                   .product = &product,
                   .is_x_signed = problem.inputs[Conv::x].dtype == DType::i8,
                   .threads = problem.threads};
    auto& g = c.g;
    if (is_product(g)) {  // for one image, whose pixels they are
        g.in[1] = g.out[1] = g.n;
        g.n = 1;
        g.stride = {1, 1};
    }
    c.rows = rows_of(g, product);
    c.k = c.rows == Rows::lines ? g.kernel[0] * c.line_elements()
                                : round_up(g.kernel[0] * g.kernel[1] * g.ic, product.depth);
    c.images = g.n;
    c.line = c.rows == Rows::bordered ? c.width() : g.out[1];
    c.count = (g.out[0] - 1) * c.line + g.out[1];
    c.part_bytes = c.k * c.element();
    c.parts = {0};
    c.chunk_rows = most_rows;
    if (c.rows == Rows::gathered) {
        int64_t tiles = chunk_bytes / (c.part_bytes * product.rows);
        c.chunk_rows = std::clamp<int64_t>(tiles, 1, most_rows / product.rows) * product.rows;
    }
    if (c.rows == Rows::image) {
        c.count *= g.n;
        c.images = 1;
    }
    if (c.rows == Rows::bordered) {
        c.part_bytes = round_up(g.ic, product.depth);
        c.parts.clear();
        for (int64_t kh = 0; kh < g.kernel[0]; ++kh)
            for (int64_t kw = 0; kw < g.kernel[1]; ++kw)
                c.parts.push_back((kh * g.dilation[0] * c.width() + kw * g.dilation[1]) * g.ic);
    }
    if (c.rows == Rows::lines) {
        c.part_bytes = c.line_elements() * c.element();
        c.parts.clear();
        for (int64_t kh = 0; kh < g.kernel[0]; ++kh)
            c.parts.push_back(kh * g.dilation[0] * c.width() * g.ic * c.element());
    }
    return c;
}

// Block after block of channels, panel after panel, in words along k; what fills up is 0.
void pack_weight(ChannelsLast& c, const int8_t* weight) {
    int64_t word = c.product->word, panel = c.product->panel;
    int64_t taps = c.g.kernel[0] * c.g.kernel[1];
    c.weight = PackedValues<int8_t>(c.blocks() * c.block_bytes());
    c.weight_sums.resize(size_t(c.g.oc));
    for (int64_t oc = 0; oc < c.g.oc; ++oc) {
        int8_t* first = c.weight.data() + oc / panel * c.panel_bytes() + oc % panel * word;
        for (int64_t ic = 0; ic < c.g.ic; ++ic)
            for (int64_t tap = 0; tap < taps; ++tap) {
                int8_t w = weight[(oc * c.g.ic + ic) * taps + tap];
                int64_t k = c.place_of(tap / c.g.kernel[1], tap % c.g.kernel[1], ic);
                first[k / word * panel * word + k % word] = w;
                c.weight_sums[size_t(oc)] += w;
            }
    }
    if (!c.product->bounds) return;
    for (int64_t at = 0; at < c.blocks() * c.block_bytes(); at += c.panel_bytes())
        c.product->bounds->complete_panel(c.weight.data() + at, c.k);
}

const cpu::ByteProduct& product_of(const Problem& problem) {
    const auto g = quantised_geometry(problem);
    const bool is_deep = g.kernel[0] * g.kernel[1] * g.ic >= fewest_bounded;
    if (auto* dots = cpu::dot_product()) return *dots;
    if (auto* bounded = cpu::bounded_product(); bounded && is_deep) return *bounded;
    return *cpu::pair_product();
}

Support supports(const Problem& problem) {
    if (auto images = channels_last_images(problem); !images) return images;
    if (cpu::has_quads()) return {"sums of four products take less time"};
    return quantised_geometry(problem).groups == 1 ? supported : Support{"one group only"};
}

std::vector<Candidate> candidates(const Problem& problem) {
    return {{std::string("channels_last:") + product_of(problem).name}};
}

Prepared prepare(const PrepareContext& context) {
    ChannelsLast c = describe(context.problem, product_of(context.problem));
    c.epilogue.y_may_be_short = short_divisions(context).by_y_scale;
    pack_weight(c, static_cast<const int8_t*>(context.constants[Conv::weight]));
    PackedInputs packed{{c.weight.piece()}, 1u << Conv::weight};
    size_t workspace = c.workspace();
    return Prepared::make(std::move(c), workspace, std::move(packed));
}

// --- rows ---

// Whole vectors, of which the last reaches over the end of both.
void copy_vectors(const uint8_t* from, uint8_t* to, int64_t n) {
    for (int64_t i = 0; i < n; i += vector) std::memcpy(to + i, from + i, vector);
}

// Common part of all shares of the work on an image.
struct ImageRun {
    const ChannelsLast& c;
    const Launch& launch;
    const ConvScales& scales;
    const uint8_t *x, *bordered;
    int64_t first_pixel;  // the image's first pixel in all of y
    uint8_t border;
};

// The elements of images with a border and of gathered rows: bytes of the image, or i16.
struct ByteElements {
    const ImageRun& run;
    void fill(uint8_t* to, int64_t n) const { std::memset(to, run.border, size_t(n)); }
    void copy(const uint8_t* from, uint8_t* to, int64_t n) const { std::memcpy(to, from, size_t(n)); }
    void copy_whole(const uint8_t* from, uint8_t* to, int64_t n) const { copy_vectors(from, to, n); }
};
struct WideElements {
    const ImageRun& run;
    void fill(int16_t* to, int64_t n) const { std::fill_n(to, n, int16_t(0)); }
    void copy(const uint8_t* from, int16_t* to, int64_t n) const {
        cpu::widen_bytes(from, to, n, run.c.is_x_signed, run.scales.x_zero);
    }
    void copy_whole(const uint8_t* from, int16_t* to, int64_t n) const {
        copy(from, to, round_up(n, vector));
    }
};

template <class Elements, class Element>
void add_border(const Elements& elements, Element* to) {
    const ImageRun& run = elements.run;
    auto& g = run.c.g;
    int64_t line = run.c.width() * g.ic, left = g.padding[1] * g.ic, inner = g.in[1] * g.ic;
    int64_t grain = std::max<int64_t>(1, 8 * parallel_grain / std::max<int64_t>(1, line));
    par_for(run.launch.threads, run.c.height(), grain, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
            Element* y = to + row * line;
            int64_t h = row - g.padding[0];
            if (h < 0 || h >= g.in[0]) {
                elements.fill(y, line);
                continue;
            }
            elements.fill(y, left);
            elements.copy(run.x + h * inner, y + left, inner);
            elements.fill(y + left + inner, left);
        }
    });
}

// The elements under the windows of rows from `first` on, each row of k.
template <class Elements, class Element>
void gather_rows(const Elements& elements, int64_t first, int64_t count, Element* to) {
    const ImageRun& run = elements.run;
    auto& g = run.c.g;
    bool is_one = g.kernel == Pair{1, 1} && g.stride == Pair{1, 1} && g.padding == Pair{0, 0};
    if (is_one && run.c.k == g.ic) return elements.copy(run.x + first * g.ic, to, count * g.ic);
    int64_t image_bytes = g.in[0] * g.in[1] * g.ic;
    for (int64_t row = first; row < first + count; ++row, to += run.c.k) {
        int64_t top = row / g.out[1] * g.stride[0] - g.padding[0];
        int64_t left = row % g.out[1] * g.stride[1] - g.padding[1];
        Element* at = to;
        for (int64_t kh = 0; kh < g.kernel[0]; ++kh) {
            int64_t h = top + kh * g.dilation[0];
            bool is_inside = h >= 0 && h < g.in[0] && left >= 0 && left + g.kernel[1] <= g.in[1];
            if (is_inside && g.dilation[1] == 1) {
                int64_t n = g.kernel[1] * g.ic, from = (h * g.in[1] + left) * g.ic;
                // The next run overwrites the excess of a copy.
                if (from + round_up(n, vector) <= image_bytes)
                    elements.copy_whole(run.x + from, at, n);
                else
                    elements.copy(run.x + from, at, n);
                at += n;
                continue;
            }
            for (int64_t kw = 0; kw < g.kernel[1]; ++kw, at += g.ic) {
                int64_t w = left + kw * g.dilation[1];
                if (h < 0 || h >= g.in[0] || w < 0 || w >= g.in[1])
                    elements.fill(at, g.ic);
                else
                    elements.copy(run.x + (h * g.in[1] + w) * g.ic, at, g.ic);
            }
        }
    }
}
void gather_rows(const ImageRun& run, int64_t first, int64_t count, uint8_t* to) {
    if (run.c.is_wide())
        gather_rows(WideElements{run}, first, count, reinterpret_cast<int16_t*>(to));
    else
        gather_rows(ByteElements{run}, first, count, to);
}

// Rows of the image that are too close to its end to read a whole tile.
cpu::ByteRows last_rows(const ImageRun& run, int64_t first, int64_t count, int64_t channels,
                        uint8_t* scratch) {
    auto& c = run.c;
    for (int64_t i = 0; i < count; ++i)
        std::memcpy(scratch + i * c.k, run.x + (first + i) * c.g.ic, size_t(c.g.ic));
    return {scratch, c.k, c.parts, c.part_bytes, count, channels};
}

// A tile of rows of a chunk, to be multiplied with `channels` of a block.
cpu::ByteRows tile_at(const ImageRun& run, int64_t chunk, int64_t first, int64_t count, int64_t channels,
                      uint8_t* scratch) {
    auto& c = run.c;
    int64_t ic = c.g.ic;
    if (c.rows == Rows::gathered)
        return {
            scratch + (first - chunk) * c.part_bytes, c.part_bytes, c.parts, c.part_bytes, count, channels};
    if (c.rows == Rows::lines) {
        int64_t pixel = first / c.g.out[1] * c.g.stride[0] * c.width() + first % c.g.out[1] * c.g.stride[1];
        return {run.bordered + pixel * ic * c.element(),
                c.g.stride[1] * ic * c.element(),
                c.parts,
                c.part_bytes,
                count,
                channels};
    }
    if (c.rows == Rows::bordered)
        return {run.bordered + first * ic, ic, c.parts, c.part_bytes, count, channels};
    const int64_t read = c.product->takes_tiles ? count : c.product->rows;
    bool is_last = (first + read - 1) * ic + c.k > c.count * ic;
    if (is_last) return last_rows(run, first, count, channels, scratch);
    return {run.x + first * ic, ic, c.parts, c.part_bytes, count, channels};
}

// --- the product ---

// The sums of rows from `first` on in one block of channels; those that were dropped leave gaps.
void finish_rows(const ImageRun& run, int64_t block, int64_t first, int64_t count, const int32_t* sums) {
    auto& c = run.c;
    int64_t first_channel = block * columns, channels = std::min(columns, c.g.oc - first_channel);
    // Bytes of a zero point add the same to all sums of a channel.
    int32_t zero = c.is_centred() ? 0 : run.scales.x_zero;
    alignas(64) std::array<int32_t, columns> start{};
    for (int64_t i = 0; i < channels; ++i)
        start[size_t(i)] = (run.scales.bias ? run.scales.bias[first_channel + i] : 0) -
                           zero * c.weight_sums[size_t(first_channel + i)];
    for (int64_t row = first; row < first + count;) {
        int64_t h = row / c.line, w = row % c.line;
        int64_t kept =
            c.line == c.g.out[1] ? first + count - row : std::min(c.g.out[1] - w, first + count - row);
        if (kept > 0)
            finish_block(
                c.epilogue, run.scales, run.launch,
                {sums + (row - first) * columns, start.data(), columns, kept, channels, first_channel,
                 (run.first_pixel + h * c.g.out[1] + w) * c.g.oc + first_channel, 1, c.g.oc});
        row += c.line == c.g.out[1] ? kept : c.line - w;
    }
}

void measure_rows(const ImageRun& run, int64_t chunk, int64_t count, uint8_t* scratch, float* measures) {
    auto& c = run.c;
    auto& product = *c.product;
    auto* measure = c.is_x_signed ? product.bounds->measure_signed : product.bounds->measure;
    for (int64_t i = 0; i < count; i += product.rows, measures += c.measures_of_tile()) {
        auto tile = tile_at(run, chunk, chunk + i, std::min(product.rows, count - i), columns, scratch);
        tile.zero = run.scales.x_zero;
        measure(tile, measures);
    }
}

// A thread's unit of work.
void run_part(const ImageRun& run, Part rows, Part blocks, uint8_t* scratch) {
    auto& c = run.c;
    auto& product = *c.product;
    auto* multiply = c.is_x_signed && product.multiply_signed ? product.multiply_signed : product.multiply;
    auto* sums = reinterpret_cast<int32_t*>(scratch + c.gathered_bytes());
    auto* measures = reinterpret_cast<float*>(scratch + c.gathered_bytes() + c.sums_bytes());
    for (int64_t chunk = rows.begin, count; chunk < rows.end; chunk += count) {
        count = std::min(c.chunk_rows, rows.end - chunk);
        if (c.rows == Rows::lines) count = std::min(count, c.line - chunk % c.line);
        if (c.rows == Rows::gathered) gather_rows(run, chunk, count, scratch);
        if (c.measures_of_tile() > 0) measure_rows(run, chunk, count, scratch, measures);
        for (int64_t block = blocks.begin; block < blocks.end; ++block) {
            const int8_t* weight = c.weight.data() + block * c.block_bytes();
            int64_t channels = std::min(columns, c.g.oc - block * columns);
            for (int64_t i = 0, together = c.rows_together(); i < count; i += together) {
                int64_t wanted = std::min(together, count - i);
                auto tile = tile_at(run, chunk, chunk + i, wanted, channels, scratch);
                tile.zero = run.scales.x_zero;
                tile.measures = measures + i / product.rows * c.measures_of_tile();
                multiply(tile, weight, sums + i * columns);
            }
            finish_rows(run, block, chunk, count, sums);
        }
    }
}

// Threads divide what is more: the rows, or the channels with their weights.
void run_image(const ImageRun& run, uint8_t* scratch) {
    auto& c = run.c;
    int64_t tiles = ceil_div(c.count, c.product->rows);
    bool is_small = c.count * c.blocks() * columns * c.k < 64 * parallel_grain;
    bool by_blocks = c.g.oc > c.count;
    int64_t shares = is_small ? 1 : std::min(c.threads, by_blocks ? c.blocks() : tiles);
    par_for(int(shares), shares, 1, [&](int64_t begin, int64_t end) {
        for (int64_t share = begin; share < end; ++share) {
            auto [rows, blocks] = share_of(tiles, c.blocks(), by_blocks, share, shares);
            rows = {rows.begin * c.product->rows, std::min(rows.end * c.product->rows, c.count)};
            run_part(run, rows, blocks, scratch + share * c.scratch_bytes());
        }
    });
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& c = prepared.state<ChannelsLast>();
    ConvScales scales(launch);
    auto* bordered = static_cast<uint8_t*>(launch.workspace);
    for (int64_t n = 0; n < c.images; ++n) {
        const uint8_t* x = launch.in<uint8_t>(Conv::x) + n * c.g.ic * c.g.in[0] * c.g.in[1];
        ImageRun image{c, launch, scales, x, bordered, n * c.g.out[0] * c.g.out[1], uint8_t(scales.x_zero)};
        if (c.rows == Rows::bordered) add_border(ByteElements{image}, bordered);
        if (c.rows == Rows::lines) add_border(WideElements{image}, reinterpret_cast<int16_t*>(bordered));
        run_image(image, bordered + c.image_bytes());
    }
}

}  // namespace

Algorithm channels_last_quantized_conv2d() {
    return {"channels_last", supports, prepare, run, {}, candidates};
}

}  // namespace mge::ops
