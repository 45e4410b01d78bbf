// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"
#include "libmge/op/elementwise_form.h"
#include "libmge/ops/quantize/step_rounding.h"

namespace mge::ops {

struct QuantizedAdd {
    static constexpr auto name = "quantized_add";
    static constexpr auto doc =
        "Adds two quantised tensors of 8 bits with different scales. The result equals that of dequantize, "
        "add, optionally relu, and quantize.";
    static constexpr auto inputs = names("a", "b", "a_scale", "b_scale", "y_scale", optional("a_zero"),
                                         optional("b_zero"), optional("y_zero"));
    static constexpr bool stops_gradient = true;
    struct Params {
        bool relu = false;
        DType dtype = DType::i8;
        int64_t lower = 0;
        int64_t upper = 0;
        StepRounding rounding = StepRounding::half_away;
    };
    static constexpr auto fields = field_list(
        field<&Params::relu>("relu", "Negative sums become 0."),
        field<&Params::dtype>("dtype", "Dtype of y: uint8 or int8."),
        field<&Params::lower>("lower",
                              "Lowest quantised value of y. If both bounds are 0, they are those "
                              "of the dtype."),
        field<&Params::upper>("upper",
                              "Highest quantised value of y. If both bounds are 0, they are those "
                              "of the dtype."),
        field<&Params::rounding>("rounding", "Rounding of ties, half_away or half_even, as in quantize."));
    // Two differences and products, their sum, a product, rounding, a sum and three comparisons.
    static constexpr PerInputElement operations{6};
    static TensorSpecs infer(const Params&, Specs);
    static std::optional<PhysicalForm> physical_form(const Params& p, const Layout& layout, Specs in,
                                                     Specs out) {
        return elementwise_form(std::make_shared<const Params>(p), layout, in, out);
    }
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<QuantizedAdd> quantized_add{};

}  // namespace mge::ops
