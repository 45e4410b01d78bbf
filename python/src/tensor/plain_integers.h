// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fast path for integers: objects of Python's own int.

#include <Python.h>

#include "libmge/base/reflect.h"
#include "python/src/object_access.h"

namespace mge::python {

// Returns false unless the object is a Python int (not a subclass) that fits in 64 bits.
inline bool read_integer(PyObject* object, int64_t& value) {
    if (!PyLong_CheckExact(object)) return false;
    int overflow = 0;
    value = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0;
}

// Reads a tuple or a list of such integers.
inline bool read_integers(PyObject* object, IntList& values) {
    if (!PyTuple_CheckExact(object) && !PyList_CheckExact(object)) return false;
    const Items items(object);
    values.resize(items.size());
    for (size_t i = 0; i < values.size(); ++i)
        if (!read_integer(items[i], values[i])) return false;
    return true;
}

}  // namespace mge::python
