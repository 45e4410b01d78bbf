// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Python.h>

namespace mge::python {

// Adds frequently called functions of megengine.core.tensor.shaping.
void add_shaping(PyObject* module);

}  // namespace mge::python
