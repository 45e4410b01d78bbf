// SPDX-License-Identifier: Apache-2.0
#pragma once
// Values that nobody reads for long wait in host memory, so that fewer are alive at once on their device.

#include "libmge/compile/options/options.h"
#include "libmge/graph/graph.h"

namespace mge {

struct Swapped {
    Graph graph;
    size_t values = 0;  // that go out and come back
};

// Copies out what is alive at the fullest step of a device and not read around it, the largest value first,
// as long as that lowers what is alive at once. Values that lie on the host, inputs, outputs, constants, and
// those of run-time shapes stay. The graph has its specs and places.
Swapped swap_values(Graph graph, const CompileOptions& options);

}  // namespace mge
