// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Multinomial {
    static constexpr auto name = "multinomial";
    static constexpr auto doc =
        "Draws categories by their weights: positions in (n,) or in each row of (m, n), i32, in the order in "
        "which they were drawn.";
    static constexpr auto inputs = names("state", "weights");
    static constexpr auto outputs = output_names("y");
    static constexpr OpTraits traits{.once = true};
    static constexpr bool stops_gradient = true;
    struct Params {
        int64_t num_samples = 1;
        bool replacement = false;
        bool operator==(const Params&) const = default;
    };
    static constexpr auto fields =
        field_list(field<&Params::num_samples>("num_samples", "Draws from each row; more than 0."),
                   field<&Params::replacement>("replacement", "A category may be drawn again."));
    static constexpr UnknownOperations operations{};

    static TensorSpecs infer(const Params&, std::span<const TensorSpec>);
    MGE_API static const OpInfo info;
};
KernelList kernels(Cpu, Multinomial);
inline constexpr OpFunction<Multinomial> multinomial{};

}  // namespace mge::ops
