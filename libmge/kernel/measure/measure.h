// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "libmge/kernel/select.h"

namespace mge {

// Times every candidate that the options allow, fastest first. In stages: one run of all, then more runs of
// those within a factor of the best; between runs the inputs are evicted from the caches as the rest of the
// program would (neighbourhood.h). Naive candidates are measured only if there are no others. With other
// load: see contest.h; untrusted times are marked.
std::vector<Measurement> measure_candidates(const std::vector<NamedCandidate>& candidates,
                                            const Problem& problem, std::span<const void* const> constants,
                                            const SelectOptions& options);

// Fastest first; equal times in the cache's order, so that a later look-up gives the same order as the
// measurement.
void sort_by_time(std::vector<Measurement>& measured);

}  // namespace mge
