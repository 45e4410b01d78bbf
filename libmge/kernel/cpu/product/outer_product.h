// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace mge::cpu {

// y[m][n] = sum over k of a[k][m] * b[k][n], f32: the sum of the outer products of rows of a and of b, as in
// the gradient of a weight. The sums are divided into blocks of rows. In each, b is packed into panels of
// columns, which all threads share, and a, for some columns at a time, into tiles of columns, which stay in
// the L2 cache during the pass over the panels. Packing reads rows sequentially, for any stride.
struct OuterProduct {
    // A block of a panel takes half of a first cache of 32 KiB, one of columns of a half of a second of 512
    // KiB.
    static constexpr int64_t depth = 256, columns_together = 240;
    // Gap between panels, and between tiles: their lengths are multiples of large powers of two, and
    // alternating writes to many of them would conflict in few cache sets.
    static constexpr int64_t gap = 16;

    int64_t m, n, k;
    int64_t a_row, b_row;  // floats from row to row; rows of y are contiguous

    int64_t blocks() const;  // number of blocks of rows
    int64_t rows(int64_t block) const;
    int64_t b_floats() const;  // packed rows of a block
    int64_t a_floats() const;  // packed columns of a, for one thread
};

// Packs rows [first, last) of a block of b, counted within the block.
void pack_outer_rows(const OuterProduct& shape, const float* b, int64_t block, int64_t first, int64_t last,
                     float* packed);
// Adds the contribution of a block to rows [first, last) of y, or starts them with it. `scratch` has
// a_floats().
struct OuterBlock {
    const float *a, *packed_b;
    float *y, *scratch;
    bool is_first;
};
void outer_product(const OuterProduct& shape, const OuterBlock& data, int64_t block, int64_t first,
                   int64_t last);

// Functions compiled once per instruction set.
struct OuterFunctions {
    void (*pack)(const OuterProduct&, const float*, int64_t, int64_t, int64_t, float*);
    void (*multiply)(const OuterProduct&, const OuterBlock&, int64_t, int64_t, int64_t);
};

}  // namespace mge::cpu
