// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Reshape {
    static constexpr auto name = "reshape";
    static constexpr auto doc = "The same elements in row-major order under another shape.";
    static constexpr auto inputs = names("x", host("target"));
    static constexpr auto outputs = output_names("y");
    static constexpr OpTraits traits{.view = true};
    struct Params {
        IntList shape;
        bool operator==(const Params&) const = default;
    };
    static constexpr auto fields = field_list(
        field<&Params::shape>("shape",
                              "New extents; at most one may be -1 and is then what remains. The tensor "
                              "`target`, when given, replaces it."));

    static TensorSpecs infer(const Params&, std::span<const TensorSpec>);
    static Params resolve(const Params&, std::span<const Tensor> host_values);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
KernelList kernels(Cpu, Reshape);
inline constexpr OpFunction<Reshape> reshape{};

}  // namespace mge::ops
