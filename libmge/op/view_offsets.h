// SPDX-License-Identifier: Apache-2.0
#pragma once
// Outputs in the memory of their operator's first input, so that nothing is computed. They are consecutive,
// starting at the offset that `part_of_input` returns.

#include <vector>

#include "libmge/op/op.h"

namespace mge {

// Returns the offset of each output in the memory of input 0, in bytes; empty if they have their own memory.
MGE_API std::vector<size_t> view_offsets(const OpInfo& op, const void* params, const TensorSpec& input,
                                         Specs outputs);

// Returns the part of a tensor's memory that starts at `offset` bytes.
MGE_API Tensor view_of(const Tensor& tensor, const TensorSpec& spec, size_t offset);

}  // namespace mge
