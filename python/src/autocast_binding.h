// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Python.h>

namespace mge::python {

// Adds mixed_precision() and set_mixed_precision(), the automatic mixed precision of the calling thread.
void add_autocast(PyObject* module);

}  // namespace mge::python
