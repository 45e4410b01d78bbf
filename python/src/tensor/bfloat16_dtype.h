// SPDX-License-Identifier: Apache-2.0
#pragma once
// The dtype of bfloat16 arrays, which NumPy lacks. Elements are Python floats to Python. NumPy's functions
// compute in float64.

#include "python/src/reference.h"

namespace mge::python {

// Registers the dtype with NumPy. Returns a borrowed numpy.dtype.
PyObject* make_bfloat16_dtype();

// NumPy's number of the dtype; -1 before it is made.
int bfloat16_number();

}  // namespace mge::python
