// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums of gradients over processes that are exchanged while the caller computes. begin_reduction packs
// gradients into one buffer and hands it to the ExchangeQueue; end_reduction waits and unpacks. The buffer
// belongs to the reduction, so tensors may be freed meanwhile.

#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct BeginReduction {
    static constexpr auto name = "begin_reduction";
    static constexpr auto doc =
        "Begins to sum gradients over processes, each of which applies it; end_reduction waits for the sums. "
        "An earlier reduction of the same name must be over.";
    static constexpr auto inputs = names(variadic("grads"));
    static constexpr auto outputs = output_names("begun");
    static constexpr bool stops_gradient = true;
    static constexpr OpTraits traits{.effect = true, .of_every_device = true};
    struct Params {
        std::string reduction;
        std::string parameters;
        IntList sizes;
        IntList present;
        IntList ranks{0};
        int64_t rank = 0;
        DType dtype = DType::f32;
        bool mean = false;
        bool first = false;
        bool has_gradients = true;
    };
    static constexpr auto fields = field_list(
        field<&Params::reduction>("reduction", "Name of the reduction, the same in all processes."),
        field<&Params::parameters>("parameters", "Names of the parameters, one a line, for errors."),
        field<&Params::sizes>("sizes", "Elements of each parameter."),
        field<&Params::present>("present",
                                "Positions of the parameters whose gradients are given. If they are others "
                                "than in another process, end_reduction fails in all of them."),
        field<&Params::ranks>("ranks", "The processes of the group, in its order."),
        field<&Params::rank>("rank", "Position of this process among them."),
        field<&Params::dtype>("dtype", "Dtype in which gradients are exchanged and summed."),
        field<&Params::mean>("mean",
                             "Divide by the number of processes. In another dtype than that of the "
                             "gradients, they are divided before the sum, which cannot overflow."),
        field<&Params::first>("first",
                              "It is the first of a backward pass. The others are left out if no "
                              "process has gradients."),
        field<&Params::has_gradients>("has_gradients", "This process has gradients in this backward pass."));

    static TensorSpecs infer(const Params&, Specs);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<BeginReduction> begin_reduction{};

struct EndReduction {
    static constexpr auto name = "end_reduction";
    static constexpr auto doc = "Waits for a reduction. Returns the sums of the gradients that were given.";
    static constexpr auto inputs = names(unpromoted("begun"), example("likes", InputKind::variadic));
    static constexpr auto outputs = output_names("sums");
    static constexpr auto takes = DTypes::all;
    static constexpr bool stops_gradient = true;
    static constexpr OpTraits traits{.variadic_outputs = true, .effect = true, .of_every_device = true};
    struct Params {
        std::string reduction;
        DType dtype = DType::f32;
    };
    static constexpr auto fields = field_list(
        field<&Params::reduction>("reduction", "Its name."),
        field<&Params::dtype>("dtype", "Dtype of the gradients. Their shapes are those of `likes`."));

    static TensorSpecs infer(const Params&, Specs);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<EndReduction, false> end_reduction{};

// Ends the backward pass of this process, which has failed, at the reduction that would begin next: it fails
// in all processes, and so do the later ones of the pass.
MGE_API void abort_reduction(const BeginReduction::Params& next);

// Frees the buffers of reductions whose names begin with `prefix`, once they are done.
MGE_API void forget_reductions(std::string_view prefix);

}  // namespace mge::ops
