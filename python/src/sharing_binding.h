// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Python.h>

namespace mge::python {

// Adds DLPack exchange and memory shared by processes.
void add_sharing(PyObject* module);

}  // namespace mge::python
