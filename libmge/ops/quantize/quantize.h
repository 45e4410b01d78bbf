// SPDX-License-Identifier: Apache-2.0
#pragma once
// From real numbers to steps and back (quantisation.h).

#include "libmge/op/apply.h"
#include "libmge/op/backend.h"
#include "libmge/op/elementwise_form.h"
#include "libmge/ops/quantize/step_rounding.h"

namespace mge::ops {

struct Quantize {
    static constexpr auto name = "quantize";
    static constexpr auto doc =
        "Quantises real numbers: x / scale, rounded, plus the zero point, limited to the bounds. NaN "
        "becomes the lowest value. Scale and zero point broadcast to x.";
    static constexpr auto inputs = names("x", "scale", optional("zero_point"));
    static constexpr bool stops_gradient = true;
    struct Params {
        DType dtype = DType::i8;
        int64_t lower = 0;
        int64_t upper = 0;
        StepRounding rounding = StepRounding::half_away;
    };
    static constexpr auto fields = field_list(
        field<&Params::dtype>("dtype", "Dtype of the result: uint8, int8 or int32."),
        field<&Params::lower>("lower", "Lowest value. If both bounds are 0, they are those of the dtype."),
        field<&Params::upper>("upper", "Highest value. If both bounds are 0, they are those of the dtype."),
        field<&Params::rounding>("rounding",
                                 "half_away rounds ties away from zero and multiplies x by the reciprocal "
                                 "of the scale; half_even rounds ties to even and divides x by the scale."));
    // Product, sum, rounding and two comparisons.
    static constexpr PerInputElement operations{5};
    static TensorSpecs infer(const Params&, Specs);
    static std::optional<PhysicalForm> physical_form(const Params& p, const Layout& layout, Specs in,
                                                     Specs out) {
        return elementwise_form(std::make_shared<const Params>(p), layout, in, out);
    }
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Quantize> quantize{};

struct Dequantize : WithoutParams {
    static constexpr auto name = "dequantize";
    static constexpr auto doc = "Dequantises x to float32: (x - zero_point) * scale.";
    static constexpr auto inputs = names("x", "scale", optional("zero_point"));
    static constexpr bool stops_gradient = true;
    // Difference and product.
    static constexpr PerInputElement operations{2};
    static TensorSpecs infer(const Params&, Specs);
    static std::optional<PhysicalForm> physical_form(const Params& p, const Layout& layout, Specs in,
                                                     Specs out) {
        return elementwise_form(std::make_shared<const Params>(p), layout, in, out);
    }
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Dequantize> dequantize{};

}  // namespace mge::ops
