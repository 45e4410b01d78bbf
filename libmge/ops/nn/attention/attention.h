// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scaled dot product attention. A query sees the keys with scores above minus infinity; one that sees none
// takes nothing: its row of y is zero, as in ONNX and PyTorch, and its log_sum_exp infinity, so that its
// weights e^(score − log_sum_exp) are zero too.

#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct AttentionParams {
    double scale = 0;
    bool causal = false, from_end = false, side_by_side = false;
};
inline constexpr auto attention_fields = field_list(
    field<&AttentionParams::scale>("scale", "Factor of the scores; 0: 1 / sqrt(E)."),
    field<&AttentionParams::causal>("causal",
                                    "Query i attends to key j only if j <= i, counted from the first query "
                                    "and key."),
    field<&AttentionParams::from_end>("from_end",
                                      "Count causal positions from the last query and key: j <= i + S - L. "
                                      "Use it if k and v begin with past keys."),
    field<&AttentionParams::side_by_side>(
        "side_by_side", "Heads are the third axis: q and y are (N, L, H, E), k and v (N, S, Hk, E)."));

struct Attention {
    static constexpr auto name = "attention";
    static constexpr auto doc =
        "Scaled dot product attention softmax(scale q kᵀ + mask) v for each head. q is (N, H, L, E), k (N, "
        "Hk, S, E) and v (N, Hk, S, Ev). Hk divides H, and neighbouring heads of q share a head of k and "
        "v. The mask is added and broadcasts to (N, H, L, S). A query whose keys are all masked gives "
        "zeros. log_sum_exp (N, H, L) is the logarithm of the softmax denominator, or infinity for such a "
        "query.";
    static constexpr auto inputs = names("q", "k", "v", optional("mask"));
    static constexpr auto outputs = output_names("y", "log_sum_exp");
    static constexpr OpTraits traits{.promotion = Promotion::floating};
    using Params = AttentionParams;
    static constexpr auto fields = attention_fields;
    static constexpr auto autocast = Autocast::narrow;

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static std::optional<double> operations(const Params&, Specs in, Specs out);
    static std::optional<BatchIndependence> batch_independence(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Attention, false> attention{};

struct AttentionBackward {
    static constexpr auto name = "attention_backward";
    static constexpr auto doc =
        "Gradients of attention with respect to q, k and v. dlog_sum_exp is the gradient of log_sum_exp "
        "and is absent if that is unused.";
    static constexpr auto inputs =
        names("q", "k", "v", "dy", "y", unpromoted("log_sum_exp"), optional("mask"),
              InputInfo("dlog_sum_exp", InputKind::optional, false, false));
    static constexpr auto outputs = output_names("dq", "dk", "dv");
    static constexpr OpTraits traits{.promotion = Promotion::floating};
    using Params = AttentionParams;
    static constexpr auto fields = attention_fields;
    static constexpr auto autocast = Autocast::narrow;

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static std::optional<double> operations(const Params&, Specs in, Specs out);
    static std::optional<BatchIndependence> batch_independence(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<AttentionBackward, false> attention_backward{};

}  // namespace mge::ops
