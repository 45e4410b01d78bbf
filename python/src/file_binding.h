// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Python.h>

namespace mge::python {

// How files are written and read safely, for Python's own ones.
void add_files(PyObject* module);

}  // namespace mge::python
