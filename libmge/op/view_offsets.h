// SPDX-License-Identifier: Apache-2.0
#pragma once
// Outputs that lie in the memory of their operator's first input: then nothing is computed. They lie there
// one behind the other, from where `part_of_input` says.

#include <vector>

#include "libmge/op/op.h"

namespace mge {

// By output, where in the memory of input 0 it lies, in bytes; empty when they have memory of their own.
MGE_API std::vector<size_t> view_offsets(const OpInfo& op, const void* params, const TensorSpec& input,
                                         std::span<const TensorSpec> outputs);

// What lies `offset` bytes behind the beginning of a tensor, in the same memory.
MGE_API Tensor view_of(const Tensor& tensor, const TensorSpec& spec, size_t offset);

}  // namespace mge
