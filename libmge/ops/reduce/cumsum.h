// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Cumsum {
    static constexpr auto name = "cumsum";
    static constexpr auto doc = "Cumulative sum along an axis. It keeps the dtype; integers wrap.";
    static constexpr auto inputs = names("x");
    static constexpr auto takes = DTypes::numbers;
    struct Params {
        int axis = 0;
    };
    static constexpr auto fields =
        field_list(field<&Params::axis>("axis", "Axis to sum along; negative counts from the end."));
    static constexpr PerInputElement operations{};
    static constexpr auto autocast = Autocast::wide;
    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static std::optional<BatchIndependence> batch_independence(const Params& p, Specs in, Specs) {
        return independent_unless_batch(p.axis, in[0]);
    }
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Cumsum> cumsum{};

}  // namespace mge::ops
