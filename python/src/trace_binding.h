// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Python.h>

namespace mge::python {

// The classes Trace and Model, and load.
void add_trace(PyObject* module);

}  // namespace mge::python
