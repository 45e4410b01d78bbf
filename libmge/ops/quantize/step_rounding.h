// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "libmge/base/reflect.h"

namespace mge {

namespace ops {
// The rounding of halves of a step.
enum class StepRounding {
    half_away,  // from zero, as in MegEngine: x times the scale's reciprocal is rounded
    half_even,  // as in ONNX: the quotient itself is rounded
};
}  // namespace ops

template <>
struct EnumNames<ops::StepRounding> {
    static constexpr std::string_view names[] = {"half_away", "half_even"};
};

}  // namespace mge
