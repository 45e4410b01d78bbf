// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/select.h"
#include "libmge/op/op.h"

namespace mge::test {

// The results of one candidate for these operands, of which the problem says which are constants. All of them
// lie in memory of their own (edge_memory.h), but for an output in the place of an input, if there is one. It
// runs twice, as programs do.
Tensors run_candidate(const NamedCandidate& named, const Problem& problem, const Tensors& inputs,
                      const InPlace* in_place = nullptr);

}  // namespace mge::test
