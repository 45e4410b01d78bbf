// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

#include "libmge/op/op.h"

namespace mge {

// The values that a gradient rule reads, one bit per tensor. It needs only dtype and shape of the others.
struct GradientReads {
    uint64_t inputs = ~uint64_t(0), outputs = ~uint64_t(0);
};

// Runs the rule once on symbols. The result is cached per thread, operator, parameters and specs. All tensors
// must be concrete.
GradientReads gradient_reads(const OpInfo& op, const void* params, std::span<const Tensor> inputs,
                             std::span<const Tensor> outputs);

}  // namespace mge
