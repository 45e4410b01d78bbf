// SPDX-License-Identifier: Apache-2.0
#pragma once
// Convolutions of 3×3 windows with stride 1 by Winograd's F(4×4, 3×3): a tile of 4×4 results takes 36
// products per pair of channels instead of 144. Images are divided into tiles of 6×6 that overlap by two, and
// each becomes 36 points, B^T d B; a weight becomes 36 points too, G g G^T. For each point the tiles are rows
// of one matrix product over input channels, and A^T m A of its results is the tile of y.
//
// Weights are stored compactly, 9 numbers each, and transformed on use: for 32 channels of y and a part of
// the input channels at a time, so that the points are in the L2 cache. Precomputed points have four times as
// many bytes, and loading them from beyond the L2 cache takes longer than computing them.

#include <algorithm>
#include <cstdint>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/activation.h"

namespace mge::cpu {

inline constexpr int64_t winograd_tile = 4, winograd_points = 36;
// Channels of x are taken in parts: the points of one part's weights for 32 channels of y take 590 KB, which
// leaves most of a second cache to the tiles.
inline constexpr int64_t winograd_depth = 128;
// So many channels of x, or fewer, get half of the memory for the points of weights.
inline constexpr int64_t winograd_few_channels = winograd_depth / 2;
// Between the 36 planes of points: with a power of two from one to the next all would meet in few sets of the
// first cache.
inline constexpr int64_t winograd_gap = 16;

// Channels of x for whose points each part has memory.
inline int64_t channels_of_part(int64_t channels, int64_t chunk) {
    return std::min(winograd_depth, round_up(channels, chunk));
}

// Channel c of pixel (h, w) of image n is at n * image + c / block * plane + c % block + h * row + w * pixel.
struct ImageStrides {
    int64_t block, plane, row, pixel, image;
    int64_t of_channel(int64_t c) const { return c / block * plane + c % block; }
};

struct Winograd {
    int64_t ic, oc;                 // multiples of the images' blocks
    int64_t height, width;          // sizes of x
    int64_t out_height, out_width;  // sizes of y
    int64_t pad_height, pad_width;  // above and left of x
    int64_t images;
    ImageStrides x, y;
    Activation activation = Activation::none;

    int64_t tile_columns() const { return ceil_div(out_width, winograd_tile); }
    int64_t tiles_of_image() const { return ceil_div(out_height, winograd_tile) * tile_columns(); }
    int64_t tiles() const { return images * tiles_of_image(); }
    int64_t panels() const;               // panels of channels of y; each is computed in one piece
    int64_t blocks_of_panel() const;      // blocks of channels of y per panel
    int64_t groups(int64_t tiles) const;  // groups of tiles that are multiplied together
    // Number of floats for the points of so many tiles, those of one panel's weights, and the products of a
    // panel with so many tiles.
    int64_t point_floats(int64_t tiles) const;
    int64_t weight_floats() const;
    int64_t product_floats(int64_t tiles) const;
};

// Some tiles, counted through all images.
struct TileRange {
    int64_t first, count;
};

// The points of groups [first, last) of a strip, into the strip's place for points.
void winograd_input(const Winograd& w, const float* x, TileRange strip, int64_t first, int64_t last,
                    float* points);

struct WinogradPanel {
    const float* weight;           // the panel's: (blocks of panel, ic, 3, 3, block) with the block of y
    const float *bias, *residual;  // may be null
    float* y;
    const float* points;        // points of the strip
    float *weights, *products;  // scratch
};
// The results of a panel's channels in the tiles of a strip.
void winograd_panel(const Winograd& w, const WinogradPanel& p, TileRange strip, int64_t panel);

// Functions compiled once per instruction set.
struct WinogradFunctions {
    int64_t panel_channels, group_tiles;
    int64_t chunk;  // channels of a tile's points that are side by side
    void (*input)(const Winograd&, const float*, TileRange, int64_t, int64_t, float*);
    void (*panel)(const Winograd&, const WinogradPanel&, TileRange, int64_t);
};

}  // namespace mge::cpu
