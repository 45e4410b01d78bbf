// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/rows/row_pieces.h"

#include <algorithm>
#include <cstring>

#include "libmge/kernel/cpu/parallel.h"

namespace mge::cpu {
namespace {

// Size for moving parts of a row; 2^k.
constexpr int64_t chunk = 64;
// Size of a tile of the result, which stays in the L1 cache.
constexpr int64_t tile_bytes = 1 << 14;

template <int64_t Bytes>
void move_narrow(const BytesOfRows& r) {
    for (int64_t i = 0; i < r.count; ++i) std::memcpy(r.y + i * r.y_stride, r.x + i * r.x_stride, Bytes);
}
// The last chunk reaches back over the one before.
void move_wide(const BytesOfRows& r) {
    for (int64_t i = 0; i < r.count; ++i) {
        const char* x = r.x + i * r.x_stride;
        char* y = r.y + i * r.y_stride;
        for (int64_t at = 0; at < r.bytes; at += chunk) {
            const int64_t begin = std::min(at, r.bytes - chunk);
            std::memcpy(y + begin, x + begin, chunk);
        }
    }
}

auto mover_of(int64_t bytes) -> void (*)(const BytesOfRows&) {
    switch (bytes) {
        case 1:
            return move_narrow<1>;
        case 2:
            return move_narrow<2>;
        case 4:
            return move_narrow<4>;
        case 8:
            return move_narrow<8>;
        case 16:
            return move_narrow<16>;
        case 32:
            return move_narrow<32>;
        case chunk:
            return move_narrow<chunk>;
        default:
            return move_wide;
    }
}

}  // namespace

void RowPieces::add(size_t input, int64_t from, int64_t to, int64_t bytes) {
    if (bytes > chunk) return add_piece(input, from, to, bytes);
    int64_t piece = chunk;
    while (piece > bytes) piece /= 2;
    for (int64_t at = 0; at < bytes; at += piece) {
        const int64_t begin = std::min(at, bytes - piece);
        add_piece(input, from + begin, to + begin, piece);
    }
}

void RowPieces::add_piece(size_t input, int64_t from, int64_t to, int64_t bytes) {
    pieces_.push_back({input, from, to, bytes, mover_of(bytes)});
}

void RowPieces::run(std::span<const void* const> inputs, void* y, int threads) const {
    const int64_t tile = tile_bytes / (y_bytes_ + 1) + 1, grain = moved_grain_bytes / (y_bytes_ + 1) + 1;
    par_for(threads, rows_, grain, [&](int64_t begin, int64_t end) {
        for (int64_t first = begin; first < end; first += tile) {
            const int64_t count = std::min(tile, end - first);
            for (auto& piece : pieces_) {
                const int64_t x_bytes = x_bytes_[piece.input];
                const char* x = static_cast<const char*>(inputs[piece.input]) + first * x_bytes + piece.from;
                char* to = static_cast<char*>(y) + first * y_bytes_ + piece.to;
                piece.move({x, to, x_bytes, y_bytes_, count, piece.bytes});
            }
        }
    });
}

}  // namespace mge::cpu
