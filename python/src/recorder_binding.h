// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Python.h>

namespace mge::python {

// Adds the recorder of eager operators (inspect/operator_recorder.h).
void add_recorder(PyObject* module);

}  // namespace mge::python
