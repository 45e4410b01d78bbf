// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "libmge/kernel/select.h"

namespace mge {

// Times every candidate that the options allow, fastest first. Staged: one run of all, then more runs of
// those within a factor of the best; between runs the inputs are evicted from the caches the way the rest of
// a network would. Naive candidates are measured only when there is nothing else.
std::vector<Measurement> measure_candidates(const std::vector<NamedCandidate>& candidates,
                                            const Problem& problem, std::span<const void* const> constants,
                                            const SelectOptions& options);

}  // namespace mge
