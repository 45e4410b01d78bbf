// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Add {
    static constexpr auto name = "add";
    static constexpr auto doc = "Elementwise sum.";
    static constexpr auto inputs = names("a", "b");
    static constexpr auto outputs = output_names("y");
    static constexpr OpTraits traits{.promotion = Promotion::common, .elementwise = true};
    static constexpr auto in_place = in_place_list(InPlace{0, 0}, InPlace{0, 1});
    using Params = NoParams;
    static constexpr auto fields = no_fields;
    static constexpr bool stops_gradient = true;
    static TensorSpecs infer(const Params&, std::span<const TensorSpec>);
    MGE_API static const OpInfo info;
};
KernelList kernels(Cpu, Add);
inline constexpr OpFunction<Add> add{};

}  // namespace mge::ops
