// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/kernel/select.h"
#include "libmge/op/op.h"

namespace mge::test {

// The results of one candidate for these operands, whose constants are given by the problem. All of them have
// separate memory (edge_memory.h), except an output in the place of an input, if there is one. It runs twice,
// as in programs.
Tensors run_candidate(const NamedCandidate& named, const Problem& problem, const Tensors& inputs,
                      const InPlace* in_place = nullptr);

}  // namespace mge::test
