// SPDX-License-Identifier: Apache-2.0
#pragma once
// Common part of one step of an optimizer.

#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

// UserErrors unless the parameter is f32, `tensor` is f32 of the parameter's shape, `scalar` one f32 number.
void check_parameter(std::string_view op, const TensorSpec& parameter);
void check_like_parameter(std::string_view op, std::string_view input, const TensorSpec& tensor,
                          const TensorSpec& parameter);
void check_one_number(std::string_view op, std::string_view input, const TensorSpec& scalar);

struct OptimizerStep {
    static constexpr bool only_trains = true;
    static constexpr OpTraits traits{.once = true};
    static constexpr bool stops_gradient = true;
    static constexpr auto autocast = Autocast::wide;
};

// A step from the parameter, its gradient, state of the parameter's shape, the count of steps and their size,
// to the new parameter, state and count.
TensorSpecs infer_step_with_state(std::string_view op, std::span<const InputInfo> inputs, Specs in);

template <class O>
struct StepWithState : OptimizerStep {
    static TensorSpecs infer(const auto&, Specs in) { return infer_step_with_state(O::name, O::inputs, in); }
};

}  // namespace mge::ops
