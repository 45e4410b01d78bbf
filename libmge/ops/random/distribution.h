// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/ops/random/random_state.h"

namespace mge::ops {

struct Uniform : Drawing {
    static constexpr auto name = "uniform";
    static constexpr auto doc = "Independent float32 numbers with a uniform distribution over [low, high).";
    static constexpr auto inputs = names("state", host("target"));
    struct Params {
        IntList shape;
        double low = 0, high = 1;
    };
    static constexpr auto fields =
        field_list(field<&Params::shape>(
                       "shape", "Shape of the result; replaced by the tensor `target` if it is given."),
                   field<&Params::low>("low", "Smallest value."),
                   field<&Params::high>("high", "Exclusive upper bound; above low."));

    static TensorSpecs infer(const Params&, Specs);
    static Params resolve(const Params&, std::span<const Tensor> host_values);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Uniform> uniform{};

struct Normal : Drawing {
    static constexpr auto name = "normal";
    static constexpr auto doc = "Independent float32 numbers with a normal distribution (Box-Muller method).";
    static constexpr auto inputs = names("state", host("target"));
    struct Params {
        IntList shape;
        double mean = 0, std = 1;
    };
    static constexpr auto fields =
        field_list(field<&Params::shape>(
                       "shape", "Shape of the result; replaced by the tensor `target` if it is given."),
                   field<&Params::mean>("mean", "Mean of the distribution."),
                   field<&Params::std>("std", "Standard deviation; not negative."));

    static TensorSpecs infer(const Params&, Specs);
    static Params resolve(const Params&, std::span<const Tensor> host_values);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Normal> normal{};

}  // namespace mge::ops
