// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/select.h"
#include "libmge/op/op.h"

namespace mge {

// No result has an element, and there is nothing else to do: a kernel could still walk along other extents,
// which may be as long as anybody likes.
MGE_API bool has_nothing_to_do(const OpInfo& op, std::span<const TensorSpec> outputs);

// Afterwards running the choice does nothing.
MGE_API void leave_undone(Choice& choice);

}  // namespace mge
