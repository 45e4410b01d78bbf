// SPDX-License-Identifier: Apache-2.0
#pragma once
// Integers as users write them nearly always: Python's own.

#include <Python.h>

#include "libmge/base/reflect.h"

namespace mge::python {

// False for anything but an object of Python's int, no class made of it, of 64 bits.
inline bool read_integer(PyObject* object, int64_t& value) {
    if (!PyLong_CheckExact(object)) return false;
    int overflow = 0;
    value = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0;
}

// The same for a tuple or a list of them.
inline bool read_integers(PyObject* object, IntList& values) {
    if (!PyTuple_CheckExact(object) && !PyList_CheckExact(object)) return false;
    values.resize(size_t(PySequence_Fast_GET_SIZE(object)));
    PyObject** items = PySequence_Fast_ITEMS(object);
    for (size_t i = 0; i < values.size(); ++i)
        if (!read_integer(items[i], values[i])) return false;
    return true;
}

}  // namespace mge::python
