// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rows that are put together from pieces of the rows of others, row by row: joins along an inner axis,
// channels that are taken from images with channels last. A tile of the result stays in the first cache while
// all pieces are written, so that each line of it goes to memory once.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace mge::cpu {

// Bytes of a result that justify a parallel region for data movement alone: results of another thread are in
// the cache of its core, and fetching them costs more than the region.
inline constexpr int64_t moved_grain_bytes = 1 << 13;

// The same bytes of neighbouring rows.
struct BytesOfRows {
    const char* x;
    char* y;
    int64_t x_stride, y_stride, count, bytes;
};

class RowPieces {
public:
    // Bytes per row of each input and of the result, and the number of rows.
    RowPieces(std::vector<int64_t> x_bytes, int64_t y_bytes, int64_t rows)
        : x_bytes_(std::move(x_bytes)), y_bytes_(y_bytes), rows_(rows) {}

    // Bytes [from, from + bytes) of each row of an input become those of the result from byte `to` on.
    void add(size_t input, int64_t from, int64_t to, int64_t bytes);
    void run(std::span<const void* const> inputs, void* y, int threads) const;

private:
    // A piece of 2^k bytes, or of many.
    struct Piece {
        size_t input;
        int64_t from, to, bytes;
        void (*move)(const BytesOfRows&);
    };
    void add_piece(size_t input, int64_t from, int64_t to, int64_t bytes);

    std::vector<Piece> pieces_;
    std::vector<int64_t> x_bytes_;
    int64_t y_bytes_, rows_;
};

}  // namespace mge::cpu
