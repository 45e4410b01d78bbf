// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scaled dot product attention as its kernels see it, on a CPU and in device code: sizes and strides.

#include <cstdint>

namespace mge {

// In elements; the elements of a row are contiguous.
struct AttentionStrides {
    int64_t batch = 0, head = 0, row = 0;
};
// 0 along broadcast axes of the mask.
struct AttentionMaskStrides {
    int64_t batch = 0, head = 0, query = 0, key = 0;
};

struct AttentionShape {
    int64_t batch = 0, heads = 0, shared_heads = 0;  // number for queries; for keys and values
    int64_t queries = 0, keys = 0, width = 0, value_width = 0;
    float scale = 1;
    bool is_causal = false;
    int64_t first_visible = 0;  // if causal: query i sees the keys before i + first_visible
    AttentionStrides q, k, v, y;
    AttentionMaskStrides mask;

    // Heads of the queries that have the same keys.
    constexpr int64_t group() const { return heads / shared_heads; }
};

// Number of keys that a query sees, from the first.
constexpr int64_t visible_keys(const AttentionShape& s, int64_t query) {
    if (!s.is_causal) return s.keys;
    int64_t seen = query + s.first_visible;
    return seen < 0 ? 0 : seen < s.keys ? seen : s.keys;
}

}  // namespace mge
