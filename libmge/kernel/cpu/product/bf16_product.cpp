// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/product/bf16_product.h"

#include <algorithm>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/product/matrix_tiles.h"
#include "libmge/tensor/dtype.h"

namespace mge::cpu {
namespace {

// The rows of a chunk are multiplied with one block of columns after the other. They stay in the L1 cache if
// the weight stays in the L2 cache; otherwise the weight is read once for as many rows as that holds.
constexpr int64_t near_bytes = 32 << 10, far_bytes = 1 << 20;

struct Share {
    int64_t begin, end;
};

template <class Byte>
Byte* moved(Byte* tensor, int64_t bytes) {
    return tensor ? tensor + bytes : nullptr;
}

// One tile with one block of columns, but for the memory that is fetched ahead.
Bf16Tile tile_at(const Bf16Product& p, const Bf16Operands& o, const TilePixels& pixels, int64_t block) {
    const int64_t element = int64_t(size_of(p.finish.dtype)), first = pixels.first_rows(bf16_rows / 2);
    const uint16_t* x = o.x + pixels.line * p.line_stride + pixels.first * p.row_stride;
    const int64_t row = pixels.line * p.tiles.line_pixels() + pixels.first;
    const int64_t at = (row * p.columns + block * bf16_columns) * element;
    const int64_t later = (pixels.has_two_lines ? p.tiles.line_pixels() : first) * p.columns * element;
    const auto* residual = moved(static_cast<const char*>(o.residual), at);
    auto* y = static_cast<char*>(o.y) + at;
    return {.x = x,
            .later = x + (pixels.has_two_lines ? p.line_stride : first * p.row_stride),
            .x_stride = p.row_stride,
            .parts = p.parts,
            .part = p.part,
            .depth = p.depth,
            .rows = pixels.rows(),
            .first_rows = first,
            .columns = std::min(bf16_columns, p.columns - block * bf16_columns),
            .weight = o.weight + block * bf16_columns * p.k(),
            .bias = o.bias + block * bf16_columns,
            .residual = residual,
            .residual_later = moved(residual, later),
            .y = y,
            .y_later = y + later,
            .y_stride = p.columns};
}

// A thread's unit of work. While a block is multiplied with the first chunk, or with any if the weight does
// not stay near, the next one is fetched.
void multiply_share(const Bf16Product& p, const Bf16Operands& o, Share tiles, Share blocks) {
    const int64_t block_size = bf16_columns * p.k();
    const int64_t weight_bytes = (blocks.end - blocks.begin) * block_size * int64_t(sizeof(uint16_t));
    const int64_t row_bytes =
        p.row_stride * int64_t(sizeof(uint16_t)) + p.columns * int64_t(size_of(p.finish.dtype));
    const int64_t fit =
        std::max<int64_t>(1, (weight_bytes > far_bytes ? far_bytes : near_bytes) / (bf16_rows * row_bytes));
    Bf16Pending pending;
    int64_t rows = 0, first_rows = 0;  // that the tiles are prepared for
    for (Share chunk{tiles.begin, tiles.begin}; chunk.begin < tiles.end; chunk.begin = chunk.end) {
        chunk.end = std::min(tiles.end, chunk.begin + fit);
        const bool is_fetched = chunk.begin == tiles.begin || weight_bytes > far_bytes;
        const int64_t count = chunk.end - chunk.begin, slice = block_size / count;
        const int64_t step = bf16_columns * p.depth * int64_t(sizeof(uint16_t)) / count;
        for (int64_t block = blocks.begin; block < blocks.end; ++block) {
            TileWalk walk(p.tiles, chunk.begin);
            const uint16_t* next = o.weight + std::min(block + 1, blocks.end - 1) * block_size;
            for (int64_t i = 0; i < count; ++i, walk.advance(), next += slice) {
                Bf16Tile tile = tile_at(p, o, walk.pixels(), block);
                tile.next = next;
                tile.next_step = is_fetched ? step : 0;
                if (rows != tile.rows || first_rows != tile.first_rows) begin_bf16(tile);
                rows = tile.rows;
                first_rows = tile.first_rows;
                multiply_bf16(tile, p.finish, pending);
            }
        }
    }
    finish_bf16(p.finish, pending);
    end_tiles();
}

}  // namespace

void multiply_bf16(const Bf16Product& p, const Bf16Operands& operands, int threads) {
    const bool is_small = p.rows * p.weight_size()<64 * parallel_grain, by_blocks = p.columns> p.rows;
    const int64_t items = by_blocks ? p.blocks() : p.tiles.count();
    const int64_t shares = is_small ? 1 : std::min<int64_t>(threads, items);
    par_for(int(shares), shares, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            const Share mine{items * i / shares, items * (i + 1) / shares};
            multiply_share(p, operands, by_blocks ? Share{0, p.tiles.count()} : mine,
                           by_blocks ? mine : Share{0, p.blocks()});
        }
    });
}

void pad_bias(const Bf16Product& p, DType dtype, const void* bias, float* to) {
    std::fill_n(to, p.bias_size(), 0.f);
    if (!bias) return;
    if (dtype == DType::f32) return void(std::copy_n(static_cast<const float*>(bias), p.columns, to));
    auto* halves = static_cast<const BFloat16*>(bias);
    for (int64_t i = 0; i < p.columns; ++i) to[i] = float(halves[i]);
}

}  // namespace mge::cpu
