// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Python.h>

#include <utility>

namespace mge::python {

// An owned reference to a Python object. Making, copying and destroying it requires the GIL.
class Reference {
public:
    Reference() = default;
    explicit Reference(PyObject* owned) : object_(owned) {}
    static Reference borrow(PyObject* object) { return Reference(Py_XNewRef(object)); }
    Reference(const Reference& other) : object_(Py_XNewRef(other.object_)) {}
    Reference(Reference&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Reference& operator=(Reference other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Reference() { Py_XDECREF(object_); }

    PyObject* get() const { return object_; }
    PyObject* release() { return std::exchange(object_, nullptr); }
    explicit operator bool() const { return object_ != nullptr; }

private:
    PyObject* object_ = nullptr;
};

}  // namespace mge::python
