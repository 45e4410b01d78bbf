// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

// Labels are (N, S), of which the first label_lengths[n] count, or one after the other in a vector.
struct CtcLoss {
    static constexpr auto name = "ctc_loss";
    static constexpr auto doc =
        "Connectionist temporal classification (Graves et al., 2006): the negative logarithm of the "
        "probability, by the class probabilities x (T, N, C), of all sequences that give the labels when "
        "repetitions and then blanks are removed. Sample n has lengths[n] steps. The result has shape (N,).";
    static constexpr bool only_trains = true;
    static constexpr auto inputs =
        names("x", unpromoted("lengths"), unpromoted("labels"), unpromoted("label_lengths"));
    static constexpr auto outputs = output_names("loss");
    struct Params {
        int64_t blank = 0;
    };
    static constexpr auto fields = field_list(field<&Params::blank>("blank", "Index of the blank class."));
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static double operations(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<CtcLoss> ctc_loss{};

struct CtcLossBackward {
    static constexpr auto name = "ctc_loss_backward";
    static constexpr auto doc = "Gradient of ctc_loss with respect to x.";
    static constexpr bool only_trains = true;
    static constexpr auto inputs = names("x", unpromoted("lengths"), unpromoted("labels"),
                                         unpromoted("label_lengths"), unpromoted("dloss"));
    static constexpr auto outputs = output_names("dx");
    using Params = CtcLoss::Params;
    static constexpr auto fields = CtcLoss::fields;
    static constexpr bool stops_gradient = true;
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    static double operations(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<CtcLossBackward> ctc_loss_backward{};

}  // namespace mge::ops
