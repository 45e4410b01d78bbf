// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a GPU's kernel that finds something wrong in its operands says what: the CPU's reference is given them,
// and throws.

#include "libmge/kernel/algorithm.h"
#include "libmge/op/op.h"

namespace mge::ops {

// The problem's specs are those of the launch, whose work is done.
[[noreturn]] void throw_as_cpu(const OpInfo& op, const void* params, const OwnedProblem& problem,
                               const Launch& launch);

}  // namespace mge::ops
