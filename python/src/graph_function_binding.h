// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Python.h>

namespace mge::python {

// Adds the class `GraphFunction`: model files as functions whose weights are arguments.
void add_graph_functions(PyObject* module);

}  // namespace mge::python
