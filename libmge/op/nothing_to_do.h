// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/select.h"
#include "libmge/op/op.h"

namespace mge {

// True if the outputs have no elements and there are no side effects. Kernels are skipped then, because they
// could still loop over other, arbitrarily large extents.
MGE_API bool has_nothing_to_do(const OpInfo& op, Specs outputs);

// Makes the choice a no-op.
MGE_API void leave_undone(Choice& choice);

}  // namespace mge
