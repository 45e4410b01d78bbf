// SPDX-License-Identifier: Apache-2.0
#pragma once
// NumPy dtypes of odd numbers that fit into few bits: intb1 holds -1 and 1, intb2 -3 to 3, intb4 -15 to 15.
// An element takes a byte, the number itself as int8.

#include <Python.h>

#include "python/src/reference.h"

namespace mge::python {

// The dtype of 1, 2 or 4 bits. NumPy learns of the three when the first is asked for.
PyObject* low_bit_dtype(int bits);
bool is_low_bit_dtype(PyObject* object);
// Data as numbers of the dtype, an array of int8; UserError where there is another number.
Reference low_bit_numbers(PyObject* data, PyObject* dtype);

// Adds `low_bit_dtype` to the module.
void add_low_bit_dtypes(PyObject* module);

}  // namespace mge::python
