// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Python.h>

namespace mge::python {

// Adds the class Tape, and call_function for gradients written in Python.
void add_tape(PyObject* module);

}  // namespace mge::python
