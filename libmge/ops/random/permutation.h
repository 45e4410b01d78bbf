// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/ops/random/random_state.h"

namespace mge::ops {

struct Permutation : Drawing {
    static constexpr auto name = "permutation";
    static constexpr auto doc =
        "The numbers 0 … n - 1 in random order. All orders are equally likely "
        "(Fisher-Yates shuffle).";
    static constexpr auto inputs = names("state", host("count"));
    struct Params {
        int64_t n = 0;
        DType dtype = DType::i32;
    };
    static constexpr auto fields = field_list(
        field<&Params::n>("n", "Number of elements, 0 or more; replaced by `count` if it is given."),
        field<&Params::dtype>("dtype", "Dtype of the result, which must represent n - 1 exactly."));

    static TensorSpecs infer(const Params&, Specs);
    static Params resolve(const Params&, std::span<const Tensor> host_values);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Permutation> permutation{};

}  // namespace mge::ops
