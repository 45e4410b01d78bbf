// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"
#include "libmge/tensor/narrow.h"

namespace mge::ops {

struct ConvertNarrow {
    static constexpr auto name = "convert_narrow";
    static constexpr auto doc =
        "Rounds real numbers to a narrow dtype. Unlike with `convert`, overflow and rounding are "
        "parameters: numbers beyond the largest saturate, or become infinity if the dtype has it, else "
        "NaN; float8_e8m0fnu rounds to a power of two up, down or to the nearest.";
    static constexpr auto inputs = names("x");
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.elementwise = true};
    static constexpr bool stops_gradient = true;
    struct Params {
        DType dtype = DType::e4m3fn;
        Overflow overflow = Overflow::saturates;
        PowerRounding rounding = PowerRounding::up;
    };
    static constexpr auto fields = field_list(
        field<&Params::dtype>("dtype", "Narrow dtype of the result."),
        field<&Params::overflow>("overflow", "Overflow of numbers beyond the largest: saturates or escapes."),
        field<&Params::rounding>("rounding", "Rounding to float8_e8m0fnu: up, down or nearest."));
    static TensorSpecs infer(const Params&, Specs);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<ConvertNarrow> convert_narrow{};

}  // namespace mge::ops

namespace mge {
template <>
struct EnumNames<Overflow> {
    static constexpr std::string_view names[] = {"saturates", "escapes"};
};
template <>
struct EnumNames<PowerRounding> {
    static constexpr std::string_view names[] = {"up", "down", "nearest"};
};
}  // namespace mge
