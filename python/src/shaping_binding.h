// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Python.h>

namespace mge::python {

// Functions of megengine.core.tensor.shaping that are called often.
void add_shaping(PyObject* module);

}  // namespace mge::python
