// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Python.h>

namespace mge::python {

// Adds the connections between processes (libmge/comm).
void add_processes(PyObject* module);

}  // namespace mge::python
