// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>

#include "libmge/op/op.h"
#include "libmge/tensor/tensor.h"

namespace mge {

// Applies the gradient rule of an operator with elementwise steps fused, so that large intermediate values
// stay in the cache: the same bits as the rule gives, in fewer passes over memory. Returns nullopt for small
// tensors, in a thread's first calls with these shapes, for rules that fusion does not shorten, on other
// devices than the host, and unless the eager interpreter is the innermost one. The arguments are those of
// OpInfo::gradient.
std::optional<Tensors> fused_gradients(const GradientArguments& arguments);

}  // namespace mge
