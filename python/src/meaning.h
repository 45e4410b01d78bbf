// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors whose elements stand for something else: steps of quantised dtypes, pairs of floats that are
// complex numbers, and odd numbers of few bits. The library knows what the elements are, plain numbers; the
// Python object keeps the NumPy dtype that says what they mean. What operators do with such Tensors stands in
// megengine.core.quantised, megengine.core.complex_numbers and megengine.core.low_bit.

#include <Python.h>

#include <span>

#include "libmge/op/op.h"
#include "python/src/reference.h"
#include "python/src/tensor/tensor_object.h"

namespace mge::python {

// Whether there was ever one: until then nobody needs to look.
extern bool tensors_with_meaning;

inline PyObject* meaning(PyObject* tensor) { return as_tensor(tensor)->meaning; }

inline bool any_meaning(PyObject* const* objects, Py_ssize_t count) {
    if (!tensors_with_meaning) [[likely]]
        return false;
    for (Py_ssize_t i = 0; i < count; ++i)
        if (objects[i] && is_tensor(objects[i]) && meaning(objects[i])) return true;
    return false;
}

// Whether a Tensor's elements are pairs along its last axis, the real and the imaginary parts.
bool is_complex(PyObject* tensor);
// Whether they are numbers of few bits.
bool is_low_bit(PyObject* tensor);

// What the elements of a Tensor mean that is made of data with a dtype asked for (or None); null for those
// that mean themselves.
Reference meaning_of(PyObject* dtype, PyObject* data);
// Data as the Tensor of that meaning holds it.
Reference plain_data(PyObject* meaning, PyObject* data);
// Whether a meaning can be that of elements of the dtype.
bool is_made_of(PyObject* meaning, DType dtype);

// The object's elements have this meaning from now on, none when null.
void give_meaning(PyObject* object, PyObject* meaning);
// It gets the value and the meaning of another one.
void take_over(PyObject* object, PyObject* other);
// A new object with a value and the meaning of another object.
PyObject* wrap_like(Tensor value, PyObject* other);
bool have_same_meaning(PyObject* a, PyObject* b);

// The result of an operator that has such Tensors among its operands, in CPython's calling convention.
PyObject* call_by_meaning(const OpInfo& op, PyObject* const* args, Py_ssize_t positional, PyObject* keywords);

}  // namespace mge::python
