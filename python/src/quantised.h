// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensors of quantised dtypes. The library knows their steps only, plain integers; the Python object keeps
// the NumPy dtype that says what they mean. What operators do with such Tensors stands in
// megengine.core.quantised.

#include <Python.h>

#include <span>

#include "libmge/op/op.h"
#include "python/src/reference.h"
#include "python/src/tensor_object.h"

namespace mge::python {

// Whether there was ever one: until then nobody needs to look.
extern bool quantised_tensors;

inline bool is_quantised(PyObject* object) { return is_tensor(object) && as_tensor(object)->quantised; }

inline bool any_quantised(PyObject* const* objects, Py_ssize_t count) {
    if (!quantised_tensors) [[likely]]
        return false;
    for (Py_ssize_t i = 0; i < count; ++i)
        if (objects[i] && is_quantised(objects[i])) return true;
    return false;
}

// The quantised dtype of a Tensor that is made of data with a dtype asked for (or None); null when it is
// none.
Reference quantised_dtype(PyObject* dtype, PyObject* data);

// The object is of this quantised dtype from now on; of that of its value when null.
void give_dtype(PyObject* object, PyObject* quantised);
// It gets the value and the dtype of another one.
void take_over(PyObject* object, PyObject* other);
// A new object with a value and the quantised dtype of another object.
PyObject* wrap_like(Tensor value, PyObject* other);
bool have_same_dtype(PyObject* quantised, PyObject* other);

// The result of an operator that has quantised operands, in CPython's calling convention.
PyObject* call_quantised(const OpInfo& op, PyObject* const* args, Py_ssize_t positional, PyObject* keywords);

}  // namespace mge::python
