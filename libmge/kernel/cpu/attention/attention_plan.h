// SPDX-License-Identifier: Apache-2.0
#pragma once
// Division of attention into blocks, and the layout of packed data.

#include <algorithm>
#include <cstdint>

#include "libmge/kernel/attention_shape.h"
#include "libmge/kernel/cpu/attention/attention_blocks.h"
#include "libmge/kernel/cpu/product/packed_product.h"

namespace mge::cpu {

inline constexpr int64_t attention_panel = PackedProduct::panel_columns;
constexpr int64_t panels_of(int64_t columns) { return (columns + attention_panel - 1) / attention_panel; }
constexpr int64_t in_panels(int64_t columns) { return panels_of(columns) * attention_panel; }

// Scores of a block and the keys and values that they are made of stay in a second cache of 512 KiB.
inline constexpr int64_t most_queries = queries_together, most_keys = 256;
// Backward there are two blocks of scores, each twice.
inline constexpr int64_t most_keys_backward = 128;

// Even blocks, with no small rest.
struct QueryBlocks {
    int64_t queries, count;
    explicit QueryBlocks(int64_t n) : queries(n), count((n + most_queries - 1) / most_queries) {}
    int64_t begin(int64_t block) const { return queries * block / count; }
};

// A head of keys and values: keys as columns in panels, values as rows in panels, in floats.
struct PackedHead {
    int64_t rows;  // number of values, with zeros after the last
    int64_t keys, values;
    explicit PackedHead(const AttentionShape& s)
        : rows(in_panels(s.keys)), keys(rows * s.width), values(rows * in_panels(s.value_width)) {}
    int64_t floats() const { return keys + values; }
};

// Scratch memory forward.
struct AttentionScratch {
    int64_t scores, sums, floats;
    explicit AttentionScratch(const AttentionShape& s) {
        scores = most_queries * std::min(most_keys, in_panels(s.keys));
        sums = most_queries * in_panels(s.value_width);
        floats = scores + sums;
    }
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
