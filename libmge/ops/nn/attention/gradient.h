// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention's derivatives written in operators, with whole scores: what its mask's gradient and second
// derivatives need. All are f32, heads first, each head of q with keys and values of its own.

#include "libmge/ops/nn/attention/attention.h"

namespace mge::ops {

// Terms of the gradients: P = e^(scale q kᵀ + mask − lse),  dP = dy vᵀ,  D = Σ dy·y − dlse,  dS = P·(dP − D)
struct AttentionParts {
    Tensor q, k, v, dy, y;
    Tensor weights;            // P
    Tensor of_scores_without;  // dP − D
    double scale;
    int64_t times;  // heads of q for each of k
};

struct AttentionOperands {
    Tensor q, k, v, dy, y, log_sum_exp;
    Tensor mask, dlog_sum_exp;  // may be absent
};
AttentionParts attention_parts(const AttentionParams& params, const AttentionOperands& x);

// Keys or values (N, Hk, S, width) with each head so many times, for the heads of q that share it.
Tensor repeated_heads(const Tensor& x, int64_t times);
// An operand or its gradient in the form above, each head so many times; null stays null.
Tensor heads_first(const AttentionParams& params, const Tensor& x, int64_t times);
// dS
Tensor gradient_of_scores(const AttentionParts& parts);
// Converts from the form above to that of the operand: sums over the heads that share it.
Tensor in_form_of_operand(const AttentionParams& params, const Tensor& grad, const Tensor& operand);
// Converts from the form of the scores to that of the mask.
Tensor in_form_of_mask(const Tensor& grad, const Tensor& mask);

}  // namespace mge::ops
