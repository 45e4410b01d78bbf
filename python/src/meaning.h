// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors whose elements encode other values: quantised values, pairs of floats that are complex numbers, and
// odd numbers of few bits. The library sees plain numbers; the Python object keeps the NumPy dtype that
// defines their meaning. megengine.core.quantised, megengine.core.complex_numbers and megengine.core.low_bit
// implement the operators on them.

#include <Python.h>

#include <span>

#include "libmge/op/op.h"
#include "python/src/reference.h"
#include "python/src/tensor/tensor_object.h"

namespace mge::python {

// True once the first such tensor was made. A shortcut.
extern bool tensors_with_meaning;

inline PyObject* meaning(PyObject* tensor) { return as_tensor(tensor)->meaning; }

inline bool any_meaning(PyObject* const* objects, Py_ssize_t count) {
    if (!tensors_with_meaning) [[likely]]
        return false;
    for (Py_ssize_t i = 0; i < count; ++i)
        if (objects[i] && is_tensor(objects[i]) && meaning(objects[i])) return true;
    return false;
}

// True if a Tensor's elements are pairs of real and imaginary parts along its last axis.
bool is_complex(PyObject* tensor);
// True if they are numbers of few bits.
bool is_low_bit(PyObject* tensor);

// Returns the meaning of a Tensor made from data with the requested dtype (or None); null for plain elements.
Reference meaning_of(PyObject* dtype, PyObject* data);
// Converts data to the plain elements that encode the meaning.
Reference plain_data(PyObject* meaning, PyObject* data);
// True if elements of the dtype can encode the meaning.
bool is_made_of(PyObject* meaning, DType dtype);

// Sets the meaning of the object's elements; null removes it.
void give_meaning(PyObject* object, PyObject* meaning);
// Copies value and meaning of another object.
void take_over(PyObject* object, PyObject* other);
// Returns a new object with a value and the meaning of another object.
PyObject* wrap_like(Tensor value, PyObject* other);
bool have_same_meaning(PyObject* a, PyObject* b);

// Applies an operator to operands with meaning, in CPython's calling convention.
PyObject* call_by_meaning(const OpInfo& op, PyObject* const* args, Py_ssize_t positional, PyObject* keywords);

}  // namespace mge::python
