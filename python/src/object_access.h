// SPDX-License-Identifier: Apache-2.0
#pragma once
// Access to Python's own objects, with the API of one version of CPython or with its stable ABI
// (Py_LIMITED_API). The stable ABI has functions only, where the other API reads memory.

#include <Python.h>

#include <string>
#include <utility>

#include "python/src/reference.h"

namespace mge::python {

// The elements of a tuple or a list.
class Items {
public:
#ifdef Py_LIMITED_API
    explicit Items(PyObject* sequence) : sequence_(sequence), is_tuple_(PyTuple_Check(sequence)) {}
    size_t size() const { return size_t(is_tuple_ ? PyTuple_Size(sequence_) : PyList_Size(sequence_)); }
    PyObject* operator[](size_t i) const {
        return is_tuple_ ? PyTuple_GetItem(sequence_, Py_ssize_t(i))
                         : PyList_GetItem(sequence_, Py_ssize_t(i));
    }

private:
    PyObject* sequence_;
    bool is_tuple_;
#else
    explicit Items(PyObject* sequence)
        : items_(PySequence_Fast_ITEMS(sequence)), size_(size_t(PySequence_Fast_GET_SIZE(sequence))) {}
    size_t size() const { return size_; }
    PyObject* operator[](size_t i) const { return items_[i]; }

private:
    PyObject** items_;
    size_t size_;
#endif
};

// Sets an element of a new tuple and takes ownership of it.
inline void set_tuple_item(PyObject* tuple, size_t i, PyObject* owned) {
#ifdef Py_LIMITED_API
    PyTuple_SetItem(tuple, Py_ssize_t(i), owned);
#else
    PyTuple_SET_ITEM(tuple, Py_ssize_t(i), owned);
#endif
}

// Returns the UTF-8 text of a str; nullptr with a Python error if it has none.
inline const char* utf8_of(PyObject* string) { return PyUnicode_AsUTF8AndSize(string, nullptr); }

// Replaces an owned reference, which may be null.
inline void set_reference(PyObject*& field, PyObject* owned) { Py_XDECREF(std::exchange(field, owned)); }

// Returns the name of the object's class for messages.
inline std::string class_name(PyObject* object) {
    Reference name(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__name__"));
    const char* text = name && PyUnicode_Check(name.get()) ? utf8_of(name.get()) : nullptr;
    if (!text) PyErr_Clear();
    return text ? text : "?";
}

}  // namespace mge::python
