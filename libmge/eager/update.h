// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/op.h"

namespace mge {

// Applies an operator whose outputs are the next values of some of its inputs (OpInfo::in_place): where an
// input is given by the only handle of its value and nobody else has its memory, the output takes that over
// instead of new memory, so the input must not be read again. Where operators are recorded, and where a
// tape or another tensor holds the value, it is as apply().
MGE_API Tensors update(const OpInfo& op, const void* params, std::span<const Tensor> inputs);

}  // namespace mge
