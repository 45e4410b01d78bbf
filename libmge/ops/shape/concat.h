// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/strided_copy.h"
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Concat {
    static constexpr auto name = "concat";
    static constexpr auto doc = "Joins tensors of equal rank along an axis. All other sizes must be equal.";
    static constexpr auto inputs = names(variadic("xs"));
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.promotion = Promotion::common};
    struct Params {
        int axis = 0;
    };
    static constexpr auto fields =
        field_list(field<&Params::axis>("axis", "Axis to join along; negative counts from the end."));

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static std::optional<PhysicalForm> physical_form(const Params&, const Layout& layout, Specs in,
                                                     Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Concat> concat{};

// One copy for each input.
MGE_API std::vector<StridedCopy> plan_concat(const Problem& problem);

}  // namespace mge::ops
