// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Python.h>

namespace mge::python {

// The connections of this process to others (base/process_mesh.h).
void add_processes(PyObject* module);

}  // namespace mge::python
