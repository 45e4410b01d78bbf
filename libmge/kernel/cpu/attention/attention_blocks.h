// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention without its scores in memory (Dao et al., 2022). For a block of queries it processes one block of
// keys after the other, and keeps each query's largest score, its sum of exponentials, and its weighted sum
// of values. If a larger score occurs, the sums are rescaled. Keys and values are packed into panels first
// (packed_product.h), once for all queries.
//
// The backward pass recomputes the weights from log_sum_exp, block by block. One thread processes a whole
// head of the keys, so that no other thread adds to its gradients.

#include <cstdint>

#include "libmge/kernel/attention_shape.h"

namespace mge::cpu {

struct AttentionData {
    const float *q, *k, *v, *mask;  // the mask may be null
    float *y, *log_sum_exp;
    float* packed;  // packed_floats(shape)
};
struct AttentionGradients {
    const float *q, *k, *v, *dy, *y, *log_sum_exp;
    const float *mask, *dlog_sum_exp;  // may be null
    float *dq, *dk, *dv;
};

// Functions compiled once per instruction set. Work is divided into items, of which each call does some; each
// thread has scratch memory.
struct AttentionFunctions {
    void (*pack)(const AttentionShape&, const AttentionData&, int64_t first, int64_t last);
    void (*attend)(const AttentionShape&, const AttentionData&, int64_t first, int64_t last, float* scratch);
    void (*attend_backward)(const AttentionShape&, const AttentionGradients&, int64_t first, int64_t last,
                            float* scratch);
};
const AttentionFunctions& attention_functions();

inline constexpr int64_t queries_together = 64;  // at most, in a block

// Panels of keys, of all heads and items of the batch.
int64_t pack_items(const AttentionShape& shape);
// Blocks of queries.
int64_t attention_items(const AttentionShape& shape);
// Heads of keys.
inline int64_t backward_items(const AttentionShape& s) { return s.batch * s.shared_heads; }

int64_t packed_floats(const AttentionShape& shape);
int64_t attention_scratch(const AttentionShape& shape);
int64_t backward_scratch(const AttentionShape& shape);

}  // namespace mge::cpu
