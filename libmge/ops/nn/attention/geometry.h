// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/attention_shape.h"
#include "libmge/ops/nn/attention/attention.h"

namespace mge::ops {

// Shape for the operator `who`, whose inputs begin with q, k and v; an absent mask has no strides. UserError
// if they do not match.
MGE_API AttentionShape attention_shape(std::string_view who, const AttentionParams& params, Specs in,
                                       const TensorSpec& mask);
// With the mask of a problem: absent ones at the end are not in its list.
MGE_API AttentionShape attention_shape(std::string_view who, const AttentionParams& params, Specs in,
                                       size_t mask);
// The shapes of y and log_sum_exp, for symbolic shapes too. `mask` is the place of the mask in `in`.
struct AttentionResults {
    Shape y, log_sum_exp;
};
AttentionResults attention_results(std::string_view who, const AttentionParams& params, Specs in,
                                   size_t mask);
// The shape of y.
Shape attention_result(const AttentionShape& shape, const AttentionParams& params);

}  // namespace mge::ops
