// SPDX-License-Identifier: Apache-2.0
#pragma once
// The meaning of an attention mask. A constant mask that hides from each query exactly the later keys makes
// the attention causal, which computes no hidden scores; so not even NaN comes from them. Models hide keys by
// infinity or by large finite numbers, which are added to the scores or replace them.

#include "libmge/graph/graph.h"

namespace mge {

struct AttentionMask {
    ValueId added = no_value;  // to the scores
    bool is_causal = false, is_from_end = false;
};

// The meaning of scores + mask. A query that sees no key has zeros from attention and NaN from a softmax. So
// a mask must be a constant that leaves a visible key for each query, or consist of finite numbers, unless
// NaN weights become zeros (`is_guarded`), as exporters write it. Nullopt for other masks.
std::optional<AttentionMask> added_mask(const Graph& graph, ValueId mask, const Shape& scores,
                                        bool is_guarded);

// The meaning of where(mask, scores, instead), or of where(mask, instead, scores) if the mask marks hidden
// keys. Nullopt unless the mask is boolean and causal.
std::optional<AttentionMask> choosing_mask(const Tensor& mask, const Shape& scores, double instead,
                                           bool true_means_hidden);

}  // namespace mge
