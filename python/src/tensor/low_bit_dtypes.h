// SPDX-License-Identifier: Apache-2.0
#pragma once
// NumPy dtypes of odd numbers in few bits: intb1 holds -1 and 1, intb2 -3 to 3, intb4 -15 to 15. An element
// is stored as int8.

#include <Python.h>

#include "python/src/reference.h"

namespace mge::python {

// Returns the dtype of 1, 2 or 4 bits. The first call registers all three with NumPy.
PyObject* low_bit_dtype(int bits);
bool is_low_bit_dtype(PyObject* object);
// Converts data to numbers of the dtype in an int8 array. Throws UserError for other numbers.
Reference low_bit_numbers(PyObject* data, PyObject* dtype);

// Adds `low_bit_dtype` to the module.
void add_low_bit_dtypes(PyObject* module);

}  // namespace mge::python
