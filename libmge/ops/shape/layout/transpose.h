// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/strided_copy.h"
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Transpose {
    static constexpr auto name = "transpose";
    static constexpr auto doc = "Reorders the axes: axis i of the result is axis pattern[i] of x.";
    static constexpr auto inputs = names("x");
    static constexpr auto takes = DTypes::all;
    struct Params {
        IntList pattern;
    };
    static constexpr auto fields =
        field_list(field<&Params::pattern>("pattern", "A permutation of 0 … rank - 1."));

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Transpose> transpose{};

// The permutation with entries 0 … rank-1; UserError for an invalid pattern.
MGE_API std::vector<int> transpose_axes(const Transpose::Params& params, int rank);

MGE_API StridedCopy plan_transpose(const Problem& problem);

}  // namespace mge::ops
