// SPDX-License-Identifier: Apache-2.0
#pragma once
// Moves values with distant readers to host memory, so that fewer are alive on their device at once.

#include "libmge/compile/options/options.h"
#include "libmge/graph/graph.h"

namespace mge {

struct Swapped {
    Graph graph;
    size_t values = 0;  // swapped values
};

// Swaps values that are alive at the fullest step of a device and not read around it, largest first, while
// that lowers the peak. Host values, inputs, outputs, constants and values of run-time shape stay. The graph
// must have specs and devices.
Swapped swap_values(Graph graph, const CompileOptions& options);

}  // namespace mge
