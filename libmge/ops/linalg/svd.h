// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Svd : WithoutParams {
    static constexpr auto name = "svd";
    static constexpr auto doc =
        "Singular values of each matrix (..., m, n): x = u diag(s) v, with s falling, orthonormal columns "
        "in u (..., m, k) and rows in v (..., k, n), and k the smaller of m and n.";
    static constexpr bool only_trains = true;
    static constexpr auto inputs = names("x");
    static constexpr auto outputs = output_names("u", "s", "v");
    static constexpr OpTraits traits{.promotion = Promotion::floating};
    static constexpr UnknownOperations operations{};
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Svd, false> svd{};

}  // namespace mge::ops
