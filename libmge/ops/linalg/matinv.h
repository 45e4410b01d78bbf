// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Matinv : WithoutParams {
    static constexpr auto name = "matinv";
    static constexpr auto doc =
        "Inverse of each square matrix of the last two axes, by Gauss-Jordan elimination with pivoting in "
        "double precision. A singular matrix is an error.";
    static constexpr auto inputs = names("x");
    static constexpr OpTraits traits{.promotion = Promotion::floating};
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static double operations(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Matinv> matinv{};

}  // namespace mge::ops
