// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention without its scores in memory (Dao et al., 2022). For a block of queries it processes one block of
// keys after the other, and keeps each query's largest score, its sum of exponentials, and its weighted sum
// of values. If a larger score occurs, the sums are rescaled. Keys and values are packed into panels first
// (packed_product.h), once for all queries.
//
// With tiles (product/bf16_tiles.h), the factors of both products are bf16: q and k are given so, weights are
// rounded, and so are values that are given as floats. Scores, sums and everything else are f32.
//
// The backward pass recomputes the weights from log_sum_exp, block by block. One thread processes a whole
// head of the keys, so that no other thread adds to its gradients.

#include <cstdint>

#include "libmge/kernel/attention_shape.h"
#include "libmge/tensor/dtype.h"

namespace mge::cpu {

// Queries and keys of type Q, values and results of type V.
template <class Q, class V>
struct AttentionOperands {
    const Q *q, *k;
    const V* v;
    const float* mask;  // may be null
    V* y;
    float* log_sum_exp;
    Q* packed;  // AttentionSizes::packed
};
using AttentionData = AttentionOperands<float, float>;
struct AttentionGradients {
    const float *q, *k, *v, *dy, *y, *log_sum_exp;
    const float *mask, *dlog_sum_exp;  // may be null
    float *dq, *dk, *dv;
};

// Functions compiled once per instruction set. Work is divided into items, of which each call does some; each
// thread has scratch memory.
template <class Q, class V>
struct AttentionSteps {
    void (*pack)(const AttentionShape&, const AttentionOperands<Q, V>&, int64_t first, int64_t last);
    void (*attend)(const AttentionShape&, const AttentionOperands<Q, V>&, int64_t first, int64_t last,
                   float* scratch);
};
struct AttentionFunctions {
    AttentionSteps<float, float> floats;
    // With tiles; null on instruction sets without them.
    AttentionSteps<BFloat16, BFloat16> halves;
    AttentionSteps<BFloat16, float> half_factors;
    void (*attend_backward)(const AttentionShape&, const AttentionGradients&, int64_t first, int64_t last,
                            float* scratch);

    const auto& steps(const AttentionOperands<float, float>&) const { return floats; }
    const auto& steps(const AttentionOperands<BFloat16, BFloat16>&) const { return halves; }
    const auto& steps(const AttentionOperands<BFloat16, float>&) const { return half_factors; }
};
const AttentionFunctions& attention_functions();

inline constexpr int64_t queries_together = 64;  // at most, in a block

// The numbers of items: panels of keys, of all heads and items of the batch, and blocks of queries. Elements
// of packed keys and values, and floats of a thread's scratch memory.
struct AttentionSizes {
    int64_t pack_items, items, packed, scratch;
};
AttentionSizes attention_sizes(const AttentionShape& shape, bool has_tiles = false);

// Heads of keys.
inline int64_t backward_items(const AttentionShape& s) { return s.batch * s.shared_heads; }
int64_t backward_scratch(const AttentionShape& shape);

}  // namespace mge::cpu
