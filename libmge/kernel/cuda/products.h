// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tiled matrix products, one tile per block of threads: the callers' parameters.

#include <cstdint>

namespace mge::cuda {

struct ProductExtents {
    int64_t rows = 0, columns = 0, depth = 0, batches = 1;
    // Sums may be made in so many parts, each of so many products; they are added up in their order.
    int64_t splits = 1, depth_of_split = 0;

    int64_t elements() const { return batches * rows * columns; }
    int64_t part_bytes() const { return splits > 1 ? splits * elements() * int64_t(sizeof(float)) : 0; }
};

enum class TileSize { small, medium, large };
constexpr int64_t rows_of(TileSize size) {
    return size == TileSize::large ? 128 : size == TileSize::medium ? 64 : 32;
}

inline int64_t tiles_of(const ProductExtents& x, TileSize size) {
    int64_t side = rows_of(size);
    return ((x.rows + side - 1) / side) * ((x.columns + side - 1) / side) * x.batches * x.splits;
}

// A GPU has about so many multiprocessors. A number of the device would make results differ between devices.
inline constexpr int64_t many_tiles = 128;

// The largest tiles, which read the least, of which there are enough to keep a GPU busy.
inline TileSize tile_size_for(const ProductExtents& x) {
    auto fits = [&](TileSize size) {
        int64_t half = rows_of(size) / 2;
        return x.rows > half && x.columns > half && tiles_of(x, size) >= many_tiles;
    };
    if (fits(TileSize::large)) return TileSize::large;
    return fits(TileSize::medium) ? TileSize::medium : TileSize::small;
}

// Cuts the sums where there are few tiles and the sums are long.
inline void split_sums(ProductExtents& x) {
    constexpr int64_t shortest = 256, most = 64, step = 16;
    int64_t wanted = 2 * many_tiles / (tiles_of(x, TileSize::small) + 1);
    int64_t possible = x.depth / shortest;
    int64_t splits = wanted < possible ? wanted : possible;
    if (splits > most) splits = most;
    if (splits < 2) splits = 1;
    int64_t depth = (x.depth + splits - 1) / splits;
    x.depth_of_split = (depth + step - 1) / step * step;
    x.splits = splits == 1 ? 1 : (x.depth + x.depth_of_split - 1) / x.depth_of_split;
}

}  // namespace mge::cuda
