// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Python.h>

namespace mge::python {

// Adds safe reading and writing of files for Python code.
void add_files(PyObject* module);

}  // namespace mge::python
