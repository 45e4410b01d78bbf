// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nanobind/nanobind.h>

#include "libmge/graph/graph.h"

namespace mge::python {

// Returns the shapes of the inputs by name. An open dimension is its name, or None if the file gives none.
nanobind::dict input_shapes_of(const Graph& graph);

}  // namespace mge::python
