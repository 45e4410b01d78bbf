// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Python.h>

namespace mge::python {

// Adds the connections between processes (base/process_mesh.h).
void add_processes(PyObject* module);

}  // namespace mge::python
