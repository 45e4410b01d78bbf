// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Python.h>

#include "libmge/base/reflect.h"

namespace mge::python {

// The class `Subgraph` and the functions that make them of Python functions.
void add_subgraphs(PyObject* module);

// The graph of a Subgraph object; null for any other object.
SubgraphRef subgraph_of(PyObject* object);

}  // namespace mge::python
