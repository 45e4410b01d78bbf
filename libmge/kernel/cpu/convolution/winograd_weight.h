// SPDX-License-Identifier: Apache-2.0
#pragma once
// Training with Winograd's F(4×4, 3×3), in addition to winograd.h: changing weights are packed in each run,
// and the gradient of the weights is the adjoint of the convolution. With the points of tiles of x, B^T d B,
// and of tiles of dy, A y A^T, it is G^T s G, where s sums the products of the two over all tiles for each
// point: 36 matrix products of channels of x by tiles by channels of y.

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/convolution/winograd.h"

namespace mge::cpu {

// Turns rows into columns: (row, column) goes to to[column * step + row]. A negative step turns the order of
// the columns around.
struct RowBlock {
    const float* from;
    int64_t stride, columns;
    float* to;
    int64_t rows, step;
};
void pack_row_block(const RowBlock& rows);

// Tiles are processed in strips. Their points are stored in chunks of channels of x and panels of channels of
// y; each pair of a chunk and a panel has its sums.
struct WinogradWeight {
    Winograd shape;  // shape of the forward convolution
    int64_t strip;   // the most tiles of a strip

    int64_t strips() const { return ceil_div(shape.tiles(), strip); }
    TileRange strip_at(int64_t i) const { return {i * strip, std::min(strip, shape.tiles() - i * strip)}; }
    int64_t pairs() const;
    int64_t x_floats() const;    // points of x in a strip
    int64_t dy_floats() const;   // points of dy in a strip
    int64_t sum_floats() const;  // sums of one pair
};

// The points of tiles [first, last) of a strip.
void winograd_weight_points(const WinogradWeight& w, const float* x, const float* dy, TileRange strip,
                            int64_t first, int64_t last, float* x_points, float* dy_points);
// Adds a strip's products to the sums of a pair, or begins them.
void winograd_weight_sums(const WinogradWeight& w, const float* x_points, const float* dy_points,
                          int64_t tiles, int64_t pair, bool begins, float* sums);
// Writes a pair's part of the weight's gradient, (oc, ic, 3, 3).
void winograd_weight_finish(const WinogradWeight& w, const float* sums, int64_t pair, float* dweight);

// Functions compiled once per instruction set.
struct WinogradWeightFunctions {
    int64_t chunk_channels, panel_channels;
    void (*pack)(const RowBlock&);
    void (*points)(const WinogradWeight&, const float*, const float*, TileRange, int64_t, int64_t, float*,
                   float*);
    void (*sums)(const WinogradWeight&, const float*, const float*, int64_t, int64_t, bool, float*);
    void (*finish)(const WinogradWeight&, const float*, int64_t, float*);
};

}  // namespace mge::cpu
