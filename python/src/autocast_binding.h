// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Python.h>

namespace mge::python {

// Automatic mixed precision of the calling thread: mixed_precision() and set_mixed_precision().
void add_autocast(PyObject* module);

}  // namespace mge::python
