// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Full {
    static constexpr auto name = "full";
    static constexpr auto doc = "A new tensor with one value everywhere.";
    static constexpr auto inputs = names(host("target"));
    static constexpr auto takes = DTypes::all;
    static constexpr bool stops_gradient = true;
    struct Params {
        IntList shape;
        double value = 0;
        DType dtype = DType::f32;
    };
    static constexpr auto fields =
        field_list(field<&Params::shape>(
                       "shape", "Shape of the result; replaced by the tensor `target` if it is given."),
                   field<&Params::value>("value", "Value of every element, converted to the dtype."),
                   field<&Params::dtype>("dtype", "Dtype of the result."));

    static TensorSpecs infer(const Params&, Specs);
    static Params resolve(const Params&, std::span<const Tensor> host_values);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Full> full{};

struct FullLike {
    static constexpr auto name = "full_like";
    static constexpr auto doc =
        "A tensor of the shape and dtype of x with one value everywhere. The values of x are not read.";
    static constexpr auto inputs = names("x");
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.reads_only_specs = true};
    static constexpr bool stops_gradient = true;
    struct Params {
        double value = 0;
    };
    static constexpr auto fields =
        field_list(field<&Params::value>("value", "Value of every element, converted to the dtype."));

    static TensorSpecs infer(const Params&, Specs);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<FullLike> full_like{};

}  // namespace mge::ops
