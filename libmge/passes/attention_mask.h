// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the mask of an attention means. A constant mask that hides from each query what comes behind it, and
// nothing else, makes the attention causal, which computes no scores that nobody sees; so not even NaN comes
// from them. Models hide by infinity or by numbers that no score makes up for, added to the scores or put in
// their place.

#include "libmge/graph/graph.h"

namespace mge {

struct AttentionMask {
    ValueId added = no_value;  // to the scores
    bool is_causal = false, is_from_end = false;
};

// The meaning of scores + mask. A query that sees nothing has zeros of attention and NaN of a softmax. So a
// mask is a constant that leaves something to see for each query, or made of finite numbers, unless weights
// that are NaN become zeros (`is_guarded`), as exporters write it. Nullopt for other masks.
std::optional<AttentionMask> added_mask(const Graph& graph, ValueId mask, const Shape& scores,
                                        bool is_guarded);

// The meaning of where(mask, scores, instead), or of where(mask, instead, scores) if the mask says what is
// hidden. Nullopt unless the mask is boolean and causal.
std::optional<AttentionMask> choosing_mask(const Tensor& mask, const Shape& scores, double instead,
                                           bool says_hidden);

}  // namespace mge
