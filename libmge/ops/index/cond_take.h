// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct CondTake : WithoutParams {
    static constexpr auto name = "cond_take";
    static constexpr auto doc =
        "Returns the elements of x where the mask is true as a vector, and their indices (int32) in the "
        "flattened x. Shapes are known only at run time.";
    static constexpr auto inputs = names("x", "mask");
    static constexpr auto outputs = output_names("values", "indices");
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.runtime_shape = true};
    static constexpr UnknownOperations operations{};

    static TensorSpecs infer(const Params&, Specs);
    static std::vector<Shape> shapes_of_items(const Shape&, const Extent& count) {
        return {Shape{count.raw()}, Shape{count.raw()}};
    }
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<CondTake, false> cond_take{};

}  // namespace mge::ops
