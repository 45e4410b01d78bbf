// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Unique {
    static constexpr auto name = "unique";
    static constexpr auto doc =
        "The different slices of x along its first axis, each once; where each stands first, which of them "
        "every slice of x is, and how often each is there.";
    static constexpr auto inputs = names("x");
    static constexpr auto outputs = output_names("values", "first", "inverse", "counts");
    static constexpr OpTraits traits{.runtime_shape = true};
    static constexpr bool stops_gradient = true;
    struct Params {
        bool sorted = true;
        bool operator==(const Params&) const = default;
    };
    static constexpr auto fields = field_list(
        field<&Params::sorted>("sorted",
                               "In ascending order of their elements, NaN behind all numbers; else "
                               "in the order in which they stand first."));
    static constexpr UnknownOperations operations{};

    static TensorSpecs infer(const Params&, std::span<const TensorSpec>);
    MGE_API static const OpInfo info;
};
KernelList kernels(Cpu, Unique);
inline constexpr OpFunction<Unique, false> unique{};

}  // namespace mge::ops
