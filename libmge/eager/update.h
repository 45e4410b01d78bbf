// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/op.h"

namespace mge {

// Applies an operator whose outputs update inputs in place (OpInfo::in_place). An input whose only handle is
// passed and whose memory is not shared lends its memory to the output, so the caller must not read it again.
// Otherwise, and while operators are recorded, it behaves like apply().
MGE_API Tensors update(const OpInfo& op, const void* params, std::span<const Tensor> inputs);

}  // namespace mge
