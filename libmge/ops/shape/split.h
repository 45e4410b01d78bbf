// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/strided_copy.h"
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Split {
    static constexpr auto name = "split";
    static constexpr auto doc = "Splits x along an axis into consecutive parts.";
    static constexpr auto inputs = names("x", example("likes", InputKind::variadic));
    static constexpr auto outputs = output_names("ys");
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.variadic_outputs = true};
    struct Params {
        int axis = 0;
        IntList sizes;
    };
    static constexpr auto fields = field_list(
        field<&Params::axis>("axis", "Axis to split; negative counts from the end."),
        field<&Params::sizes>("sizes",
                              "Sizes of the parts, which sum to that of x. Parts of size -1 share what "
                              "the others leave; the first ones are longer if it does not divide. The "
                              "sizes of the tensors `likes` replace all of them if those are given."));

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static std::optional<int64_t> part_of_input(const Params&, const TensorSpec& x);
    static std::optional<PhysicalForm> physical_form(const Params&, const Layout& layout, Specs in,
                                                     Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Split, false> split{};

// One copy for each output.
MGE_API std::vector<StridedCopy> plan_split(const Problem& problem);

}  // namespace mge::ops
