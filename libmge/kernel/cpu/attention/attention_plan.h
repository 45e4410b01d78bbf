// SPDX-License-Identifier: Apache-2.0
#pragma once
// Division of attention into blocks, and the layout of packed data.

#include <algorithm>
#include <cstdint>

#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/attention_shape.h"
#include "libmge/kernel/cpu/attention/attention_blocks.h"
#include "libmge/kernel/cpu/product/bf16_tiles.h"
#include "libmge/kernel/cpu/product/matrix_tiles.h"
#include "libmge/kernel/cpu/product/packed_product.h"

namespace mge::cpu {

// The sizes that products compute in: panels of columns, steps of their sums, and tiles of rows.
struct AttentionUnits {
    int64_t panel, depth, rows;

    constexpr int64_t in_panels(int64_t columns) const { return round_up(columns, panel); }
    constexpr int64_t in_steps(int64_t width) const { return round_up(width, depth); }
    constexpr int64_t in_tiles(int64_t queries) const { return round_up(queries, rows); }
};
inline constexpr AttentionUnits vector_units{PackedProduct::panel_columns, 1, 1};
inline constexpr AttentionUnits tile_units{bf16_columns, bf16_depth_of_tile, tile_rows};
constexpr int64_t in_panels(int64_t columns) { return vector_units.in_panels(columns); }

// Scores of a block and the keys and values that they are made of stay in a second cache of 512 KiB.
inline constexpr int64_t most_queries = queries_together, most_keys = 256;
// Backward there are two blocks of scores, each twice.
inline constexpr int64_t most_keys_backward = 128;

// Even blocks of whole tiles, with no small rest.
struct QueryBlocks {
    int64_t queries, rows, tiles, count;
    QueryBlocks(int64_t n, const AttentionUnits& units)
        : queries(n), rows(units.rows), tiles(units.in_tiles(n) / rows), count(ceil_div(n, most_queries)) {}
    int64_t begin(int64_t block) const { return std::min(queries, tiles * block / count * rows); }
};

// A head of keys and values: keys as columns in panels, values as rows in panels.
struct PackedHead {
    int64_t rows;  // number of values, with zeros after the last
    int64_t keys, values;
    PackedHead(const AttentionShape& s, const AttentionUnits& units)
        : rows(units.in_panels(s.keys)),
          keys(rows * units.in_steps(s.width)),
          values(rows * units.in_panels(s.value_width)) {}
    int64_t elements() const { return keys + values; }
};

// Floats of scratch memory forward; those of q contain its halves for tiles.
struct AttentionScratch {
    int64_t scores, sums, q;
    AttentionScratch(const AttentionShape& s, const AttentionUnits& units)
        : scores(most_queries * std::min(most_keys, units.in_panels(s.keys))),
          sums(most_queries * units.in_panels(s.value_width)),
          q(units.depth > 1 ? most_queries * units.in_steps(s.width) / 2 : 0) {}
    int64_t floats() const { return scores + sums + q; }
};

// Backward: kt and vt are keys and values as columns in panels, k as rows; q and dy rows of a block of
// queries; the weights and the gradients of the scores of a block, as rows of queries and of keys.
struct BackwardScratch {
    int64_t kt, vt, k, q, dy, block, floats;
    explicit BackwardScratch(const AttentionShape& s) {
        int64_t rows = in_panels(s.keys);
        kt = rows * s.width;
        vt = rows * s.value_width;
        k = rows * in_panels(s.width);
        q = most_queries * in_panels(s.width);
        dy = most_queries * in_panels(s.value_width);
        block = most_queries * std::min(most_keys_backward, rows);
        floats = kt + vt + k + q + dy + 4 * block;
    }
};

}  // namespace mge::cpu
