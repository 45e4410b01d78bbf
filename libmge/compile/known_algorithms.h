// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/compile/program.h"

namespace mge {

// Returns options for further programs of a graph, for other shapes: the algorithms of the first one, without
// measuring (no_profiling_on_shape_change).
MGE_API CompileOptions with_known_algorithms(const CompileOptions& options, const Program& first);

}  // namespace mge
