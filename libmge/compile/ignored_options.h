// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

#include "libmge/compile/program.h"

namespace mge {

// Options that were given and found nothing to do in this graph, as the passes have left it, or on any
// device. `packed_weights`: bytes that algorithms packed ahead.
std::vector<IgnoredOption> find_ignored_options(const CompileOptions& options, const Graph& compiled,
                                                std::span<const StepReport> steps, size_t packed_weights);

}  // namespace mge
