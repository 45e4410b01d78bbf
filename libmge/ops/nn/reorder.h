// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Reorder {
    static constexpr auto name = "reorder";
    static constexpr auto doc =
        "The same values in another memory layout. The layout pass puts it into compiled programs; tensors "
        "outside of them are always plain.";
    static constexpr auto inputs = names("x");
    static constexpr auto outputs = output_names("y");
    struct Params {
        std::string layout = "plain";
        bool operator==(const Params&) const = default;
    };
    static constexpr auto fields = field_list(
        field<&Params::layout>("layout", "'plain', or the name of a layout of images: nhwc, nChw16c, …"));
    static TensorSpecs infer(const Params&, std::span<const TensorSpec>);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
KernelList kernels(Cpu, Reorder);
inline constexpr OpFunction<Reorder> reorder{};

}  // namespace mge::ops
