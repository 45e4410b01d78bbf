// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Python.h>

namespace mge::python {

// Memory that others have too: DLPack's capsules, and memory that processes share.
void add_sharing(PyObject* module);

}  // namespace mge::python
