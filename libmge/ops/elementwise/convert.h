// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Convert {
    static constexpr auto name = "convert";
    static constexpr auto doc = "The same values in another dtype; equal dtypes copy nothing.";
    static constexpr auto inputs = names("x");
    static constexpr auto outputs = output_names("y");
    static constexpr OpTraits traits{.elementwise = true};
    struct Params {
        DType dtype = DType::f32;
        bool operator==(const Params&) const = default;
    };
    static constexpr auto fields = field_list(field<&Params::dtype>("dtype", "Dtype of the result."));
    static TensorSpecs infer(const Params&, std::span<const TensorSpec>);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
KernelList kernels(Cpu, Convert);
inline constexpr OpFunction<Convert> convert{};

}  // namespace mge::ops
