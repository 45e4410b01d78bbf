// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Eye {
    static constexpr auto name = "eye";
    static constexpr auto doc = "A matrix with ones on the diagonal and zeros elsewhere.";
    static constexpr auto inputs = names();
    static constexpr auto takes = DTypes::numbers;
    static constexpr bool stops_gradient = true;
    struct Params {
        int64_t n = 0, m = -1;
        DType dtype = DType::f32;
    };
    static constexpr auto fields =
        field_list(field<&Params::n>("n", "Number of rows."),
                   field<&Params::m>("m", "Number of columns; -1: as many as rows."),
                   field<&Params::dtype>("dtype", "Dtype of the result."));

    static TensorSpecs infer(const Params&, Specs);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Eye> eye{};

}  // namespace mge::ops
