// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/rows/row_pieces.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

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

constexpr size_t most_riffled = 4;
using Riffle = void (*)(std::span<const char* const> x, char* y, int64_t rows);

// Rows of one T of each input. The compiler makes shuffles of it.
template <class T, size_t... k>
void riffle(std::span<const char* const> x, char* y, int64_t rows) {
    using Element __attribute__((aligned(1), may_alias)) = T;
    auto* to = reinterpret_cast<Element*>(y);
    const Element* from[] = {reinterpret_cast<const Element*>(x[k])...};
    for (int64_t i = 0; i < rows; ++i) ((to[i * int64_t(sizeof...(k)) + int64_t(k)] = from[k][i]), ...);
}

template <class T>
Riffle riffle_of(size_t inputs) {
    constexpr Riffle riffles[] = {riffle<T, 0, 1>, riffle<T, 0, 1, 2>, riffle<T, 0, 1, 2, 3>};
    static_assert(std::size(riffles) + 1 == most_riffled);
    return inputs < 2 || inputs > most_riffled ? nullptr : riffles[inputs - 2];
}
Riffle riffle_of(int64_t bytes, size_t inputs) {
    switch (bytes) {
        case 1:
            return riffle_of<uint8_t>(inputs);
        case 2:
            return riffle_of<uint16_t>(inputs);
        case 4:
            return riffle_of<uint32_t>(inputs);
        default:
            return nullptr;
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
    const int64_t element = x_bytes_.front();
    bool are_elements = y_bytes_ == int64_t(pieces_.size()) * element;
    for (size_t k = 0; k < pieces_.size(); ++k)
        are_elements &= x_bytes_[pieces_[k].input] == element && pieces_[k].to == int64_t(k) * element;
    const Riffle riffle = are_elements ? riffle_of(element, pieces_.size()) : nullptr;
    par_for(threads, rows_, grain, [&](int64_t begin, int64_t end) {
        if (riffle) {
            std::array<const char*, most_riffled> x{};
            for (size_t k = 0; k < pieces_.size(); ++k)
                x[k] = static_cast<const char*>(inputs[pieces_[k].input]) + begin * element;
            return riffle(x, static_cast<char*>(y) + begin * y_bytes_, end - begin);
        }
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
