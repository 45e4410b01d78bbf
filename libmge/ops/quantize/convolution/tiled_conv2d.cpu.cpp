// SPDX-License-Identifier: Apache-2.0
// A convolution as a matrix product in tiles (kernel/cpu/product/integer_tile.h). The image is first laid out
// with its border and with the channels of a pixel side by side, in words: as i16 less the zero point, or,
// where the processor multiplies bytes and the weight has no zero point, as u8, those of i8 being shifted by
// 128. The border then holds the zero point, and what that adds to a sum, zero point · Σ weight, is the same
// for all pixels of a channel and taken off at the end. A chunk of neighbouring pixels is a thread's unit of
// work: the words under their windows are gathered once and multiplied with one block of the channels of y
// after another.

#include "libmge/ops/quantize/convolution/tiled_conv2d.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/balanced.h"
#include "libmge/kernel/cpu/product/integer_tile.h"
#include "libmge/kernel/packed_values.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/nn/convolution/geometry.h"
#include "libmge/ops/quantize/convolution/convolution_rows.h"

namespace mge::ops {
namespace {

using Conv = QuantizedConv2d;

constexpr int64_t pixels_per_chunk = 48;  // whole tiles of 6 and of 12 rows, whole vectors of all lengths
static_assert(pixels_per_chunk <= longest_row);

// Sizes are counted in words of 4 bytes.
struct TiledConv {
    ConvGeometry g;
    ConvEpilogue epilogue;
    bool is_x_signed, is_weight_signed;
    const cpu::IntegerTile* tile;
    int64_t words_per_pixel, width, height;  // those of the copied image of one group
    int64_t words;                           // words of a window
    int64_t blocks;                          // blocks of tile->columns channels, in one group
    int64_t threads;
    PackedValues<int32_t> weight;      // packed, when it never changes
    std::vector<int32_t> weight_sums;  // Σ weight per channel

    bool is_bytes() const { return tile->per_word == 4; }
    int64_t pixels() const { return g.out[0] * g.out[1]; }
    int64_t image_words() const { return g.groups * height * width * words_per_pixel; }
    int64_t block_words() const { return words * tile->columns; }
    int64_t weight_words() const { return g.groups * blocks * block_words(); }
    int64_t channels() const { return g.groups * g.oc; }
    // For one thread: the words of a chunk, and its sums in one block.
    int64_t scratch_words() const { return pixels_per_chunk * (words + tile->columns); }
    size_t workspace() const {
        int64_t packed = weight.empty() ? weight_words() + channels() : 0;
        return size_t(image_words() + threads * scratch_words() + packed) * sizeof(int32_t);
    }
};

bool may_multiply_bytes(const Problem& problem) {
    return cpu::quad_tile() && problem.inputs[Conv::weight].dtype == DType::i8 &&
           !problem.has_input(Conv::weight_zero);
}

TiledConv describe(const Problem& problem) {
    auto& p = problem.as<Conv::Params>();
    auto &x = problem.inputs[Conv::x], &weight = problem.inputs[Conv::weight];
    TiledConv c{.g = conv_geometry(Conv::name, window_of(p), x.shape, weight.shape),
                .epilogue = ConvEpilogue(problem),
                .is_x_signed = x.dtype == DType::i8,
                .is_weight_signed = weight.dtype == DType::i8,
                .tile = may_multiply_bytes(problem) ? cpu::quad_tile() : &cpu::pair_tile()};
    c.words_per_pixel = ceil_div(c.g.ic, c.tile->per_word);
    c.height = c.g.in[0] + 2 * c.g.padding[0];
    c.width = c.g.in[1] + 2 * c.g.padding[1];
    c.words = c.g.kernel[0] * c.g.kernel[1] * c.words_per_pixel;
    c.blocks = ceil_div(c.g.oc, c.tile->columns);
    c.threads = problem.threads;
    return c;
}

// E is the element of a word. Channels beyond the last have weight 0.
template <class E, class W>
void pack_weight(const TiledConv& c, const W* weight, int32_t zero, int32_t* packed, int32_t* sums) {
    constexpr int64_t per_word = 4 / sizeof(E);
    std::fill(packed, packed + c.weight_words(), 0);
    auto* elements = reinterpret_cast<E*>(packed);
    int64_t taps = c.g.kernel[0] * c.g.kernel[1];
    for (int64_t channel = 0; channel < c.channels(); ++channel) {
        int64_t group = channel / c.g.oc, oc = channel % c.g.oc, sum = 0;
        E* block = elements + (group * c.blocks + oc / c.tile->columns) * c.block_words() * per_word;
        for (int64_t ic = 0; ic < c.g.ic; ++ic)
            for (int64_t tap = 0; tap < taps; ++tap) {
                int32_t w = weight[(channel * c.g.ic + ic) * taps + tap] - zero;
                int64_t word = tap * c.words_per_pixel + ic / per_word;
                block[(word * c.tile->columns + oc % c.tile->columns) * per_word + ic % per_word] = E(w);
                sum += w;
            }
        sums[channel] = int32_t(sum);
    }
}

void pack_weight(const TiledConv& c, const void* weight, int32_t zero, int32_t* packed, int32_t* sums) {
    if (c.is_bytes()) return pack_weight<int8_t>(c, static_cast<const int8_t*>(weight), 0, packed, sums);
    if (c.is_weight_signed)
        return pack_weight<int16_t>(c, static_cast<const int8_t*>(weight), zero, packed, sums);
    pack_weight<int16_t>(c, static_cast<const uint8_t*>(weight), zero, packed, sums);
}

Prepared prepare(const PrepareContext& context) {
    auto& problem = context.problem;
    TiledConv c = describe(problem);
    bool has_zero = problem.has_input(Conv::weight_zero);
    PackedInputs packed;
    if (problem.is_constant(Conv::weight) && (!has_zero || problem.is_constant(Conv::weight_zero))) {
        c.weight = PackedValues<int32_t>(c.weight_words());
        c.weight_sums.resize(size_t(c.channels()));
        int32_t zero = has_zero ? *static_cast<const int32_t*>(context.constants[Conv::weight_zero]) : 0;
        pack_weight(c, context.constants[Conv::weight], zero, c.weight.data(), c.weight_sums.data());
        packed.pieces.push_back(c.weight.piece());
        packed.inputs = 1u << Conv::weight;
    }
    size_t workspace = c.workspace();
    return Prepared::make(std::move(c), workspace, std::move(packed));
}

// A row of the image of one group: E(x + shift) at the places of its pixels, `border` around them.
template <class E, class X>
void lay_out_row(const TiledConv& c, const X* image, int64_t row, int32_t shift, E border, E* to) {
    constexpr int64_t together = 16;  // pixels whose channels are written while their lines are near
    constexpr int64_t per_word = 4 / sizeof(E);
    int64_t pixel = c.words_per_pixel * per_word, h = row - c.g.padding[0], plane = c.g.in[0] * c.g.in[1];
    std::fill(to, to + c.width * pixel, border);
    if (h < 0 || h >= c.g.in[0]) return;
    to += c.g.padding[1] * pixel;
    const X* from = image + h * c.g.in[1];
    for (int64_t first = 0; first < c.g.in[1]; first += together) {
        int64_t last = std::min(first + together, c.g.in[1]);
        for (int64_t ic = 0; ic < c.g.ic; ++ic)
            for (int64_t w = first; w < last; ++w) to[w * pixel + ic] = E(from[ic * plane + w] + shift);
    }
}

template <class X>
void lay_out_image(const TiledConv& c, const X* x, int32_t x_zero, int threads, int32_t* to) {
    int64_t row_words = c.width * c.words_per_pixel, plane = c.g.in[0] * c.g.in[1];
    int64_t grain = std::max<int64_t>(1, parallel_grain / std::max<int64_t>(1, c.width * c.g.ic));
    par_for(threads, c.g.groups * c.height, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const X* image = x + i / c.height * c.g.ic * plane;
            int32_t* row = to + i * row_words;
            if (c.is_bytes())
                lay_out_row(c, image, i % c.height, c.is_x_signed ? 128 : 0, uint8_t(x_zero),
                            reinterpret_cast<uint8_t*>(row));
            else
                lay_out_row(c, image, i % c.height, -x_zero, int16_t(0), reinterpret_cast<int16_t*>(row));
        }
    });
}

// Common part of all chunks of an image.
struct ImageRun {
    const TiledConv& c;
    const Launch& launch;
    const ConvScales& scales;
    const int32_t *image, *weight;
    const int32_t* weight_sums;
    int32_t byte_zero;  // zero point of the copied bytes; 0 for i16
    int64_t n;
};

// The words under the windows of a tile's pixels, those of a word side by side. Rows beyond the last pixel
// repeat it.
void gather_tile(const ImageRun& run, int64_t group, int64_t first_pixel, int32_t* to) {
    const TiledConv& c = run.c;
    int64_t rows = c.tile->rows, row_words = c.width * c.words_per_pixel;
    std::array<const int32_t*, 16> pixel;
    for (int64_t r = 0; r < rows; ++r) {
        int64_t p = std::min(first_pixel + r, c.pixels() - 1), oh = p / c.g.out[1], ow = p % c.g.out[1];
        pixel[size_t(r)] = run.image + (group * c.height + oh * c.g.stride[0]) * row_words +
                           ow * c.g.stride[1] * c.words_per_pixel;
    }
    for (int64_t kh = 0; kh < c.g.kernel[0]; ++kh)
        for (int64_t kw = 0; kw < c.g.kernel[1]; ++kw) {
            int64_t tap = kh * c.g.dilation[0] * row_words + kw * c.g.dilation[1] * c.words_per_pixel;
            for (int64_t word = 0; word < c.words_per_pixel; ++word, to += rows)
                for (int64_t r = 0; r < rows; ++r) to[r] = pixel[size_t(r)][tap + word];
        }
}

// The sums of a chunk in one block of channels.
void finish_sums(const ImageRun& run, int64_t group, int64_t block, int64_t first, int64_t count,
                 const int32_t* sums) {
    const TiledConv& c = run.c;
    int64_t columns = c.tile->columns, channels = std::min(columns, c.g.oc - block * columns);
    int64_t first_channel = group * c.g.oc + block * columns;
    std::array<int32_t, longest_row> start{};
    for (int64_t i = 0; i < channels; ++i)
        start[size_t(i)] = (run.scales.bias ? run.scales.bias[first_channel + i] : 0) -
                           run.byte_zero * run.weight_sums[first_channel + i];
    finish_block(c.epilogue, run.scales, run.launch,
                 {sums, start.data(), columns, count, channels, first_channel,
                  (run.n * c.channels() + first_channel) * c.pixels() + first, c.pixels()});
}

void run_chunk(const ImageRun& run, int64_t group, int64_t first, int32_t* scratch) {
    const TiledConv& c = run.c;
    const auto& tile = *c.tile;
    int64_t count = std::min(pixels_per_chunk, c.pixels() - first);
    int32_t *words = scratch, *sums = scratch + c.words * pixels_per_chunk;
    for (int64_t r = 0; r < count; r += tile.rows) gather_tile(run, group, first + r, words + r * c.words);
    for (int64_t block = 0; block < c.blocks; ++block) {
        const int32_t* weight = run.weight + (group * c.blocks + block) * c.block_words();
        for (int64_t r = 0; r < count; r += tile.rows)
            tile.multiply(words + r * c.words, weight, c.words, sums + r * tile.columns, tile.columns);
        finish_sums(run, group, block, first, count, sums);
    }
}

// Each thread has a part of the chunks and a scratch of its own.
void run_image(const ImageRun& run, int32_t* scratch) {
    const TiledConv& c = run.c;
    int64_t per_group = ceil_div(c.pixels(), pixels_per_chunk), chunks = c.g.groups * per_group;
    bool is_small = c.g.multiplications() < 16 * parallel_grain * std::max<int64_t>(1, c.g.n);
    int64_t shares = is_small ? 1 : std::min<int64_t>(c.threads, chunks);
    in_balanced_parts(int(shares), chunks, 1, [&](int thread, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
            run_chunk(run, i / per_group, i % per_group * pixels_per_chunk,
                      scratch + thread * c.scratch_words());
    });
}

void run(const Prepared& prepared, const Launch& launch) {
    auto& c = prepared.state<TiledConv>();
    ConvScales scales(launch);
    auto* image = static_cast<int32_t*>(launch.workspace);
    int32_t *scratch = image + c.image_words(), *weight = scratch + c.threads * c.scratch_words();
    int32_t* weight_sums = weight + c.weight_words();
    if (c.weight.empty())
        pack_weight(c, launch.inputs[Conv::weight], scales.weight_zero, weight, weight_sums);
    int32_t byte_zero = c.is_bytes() ? scales.x_zero + (c.is_x_signed ? 128 : 0) : 0;
    int64_t x_size = c.g.groups * c.g.ic * c.g.in[0] * c.g.in[1];
    for (int64_t n = 0; n < c.g.n; ++n) {
        int32_t zero = c.is_bytes() ? byte_zero : scales.x_zero;
        if (c.is_x_signed)
            lay_out_image(c, launch.in<int8_t>(Conv::x) + n * x_size, zero, launch.threads, image);
        else
            lay_out_image(c, launch.in<uint8_t>(Conv::x) + n * x_size, zero, launch.threads, image);
        run_image({c, launch, scales, image, c.weight.empty() ? weight : c.weight.data(),
                   c.weight.empty() ? weight_sums : c.weight_sums.data(), byte_zero, n},
                  scratch);
    }
}

}  // namespace

Algorithm tiled_quantized_conv2d() { return {"tiles", plain_layouts, prepare, run}; }

}  // namespace mge::ops
