// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

// The gradient of the scale in fake quantisation.
enum class ScaleLearning {
    none,        // nothing; steps are rounded before the zero point is added
    by_rounded,  // TQT: a number counts as in range by its rounded step
    by_exact,    // LSQ: before it is rounded
};

struct FakeQuantize {
    static constexpr auto name = "fake_quantize";
    static constexpr auto doc =
        "Quantises and dequantises x: (clip(round(x / scale) + zero_point) - zero_point) * scale. The "
        "gradient of x is that of the identity inside the range and 0 outside. If the scale is learned, "
        "the zero point is added before rounding, and the scale has a gradient: the rounding error inside "
        "the range and the bound outside, times grad_scale.";
    static constexpr auto inputs = names("x", "scale", optional("zero_point"), optional("grad_scale"));
    static constexpr auto in_place = in_place_list(InPlace{0, 0});
    struct Params {
        int64_t lower = -128;
        int64_t upper = 127;
        ScaleLearning learning = ScaleLearning::none;
    };
    static constexpr auto fields = field_list(
        field<&Params::lower>("lower", "Lowest quantised value."),
        field<&Params::upper>("upper", "Highest quantised value."),
        field<&Params::learning>("learning", "Gradient of the scale: none, by_rounded or by_exact."));
    // Quotient, rounding, two comparisons, two sums and a product.
    static constexpr PerInputElement operations{7};
    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<FakeQuantize> fake_quantize{};

}  // namespace mge::ops

namespace mge {
template <>
struct EnumNames<ops::ScaleLearning> {
    static constexpr std::string_view names[] = {"none", "by_rounded", "by_exact"};
};
}  // namespace mge
