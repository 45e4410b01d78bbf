// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a GPU's kernel that finds something wrong in its operands says what: the CPU's reference is given them,
// and throws.

#include "libmge/kernel/algorithm.h"
#include "libmge/op/op.h"

namespace mge::ops {

// Waits for the launch's work, which has written to `fault`, memory of the device, whether something is
// wrong. The problem's specs are those of the launch.
void throw_as_cpu_if(const int* fault, const OpInfo& op, const void* params, const OwnedProblem& problem,
                     const Launch& launch);

}  // namespace mge::ops
