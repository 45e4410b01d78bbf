// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

#include "libmge/op/op.h"

namespace mge {

// Which values a gradient rule reads, one bit per tensor; of the others it only wants dtype and shape.
struct GradientReads {
    uint64_t inputs = ~uint64_t(0), outputs = ~uint64_t(0);
};

// Found by running the rule once on symbols; kept per thread, operator, parameters and specs. All tensors
// have to be concrete.
GradientReads gradient_reads(const OpInfo& op, const void* params, std::span<const Tensor> inputs,
                             std::span<const Tensor> outputs);

}  // namespace mge
