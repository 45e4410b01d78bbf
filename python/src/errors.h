// SPDX-License-Identifier: Apache-2.0
#pragma once
// C++ errors as Python exceptions, and back.

#include <Python.h>

#include <string>
#include <utility>

#include "libmge/base/error.h"
#include "libmge/base/rethrow.h"

namespace mge::python {

// Thrown when a Python call failed: its exception is set already.
struct PythonError : ThrownAsIs {};

// Sets the Python exception for the C++ exception in flight.
void set_python_error() noexcept;

// Creates megengine.InternalError and the like in the module; the classes live for ever.
void add_exceptions(PyObject* module);
// The class of "trace error because …".
PyObject* trace_error_class();

// Clears the exception of an optional step, if there is one. Throws PythonError for those that end a program,
// such as KeyboardInterrupt: Ctrl-C may come while any Python code runs.
void clear_exception();

// What the Python exception says that is set, which is no longer set then.
std::string taken_message();

[[noreturn]] void throw_python(PyObject* exception_class, const std::string& message);

// Runs `body` (which returns a pointer or an int); on an exception sets the Python error and gives `failed`.
template <class Body>
auto guarded(Body&& body, decltype(body()) failed = {}) noexcept {
    try {
        return std::forward<Body>(body)();
    } catch (...) {
        set_python_error();
        return failed;
    }
}

}  // namespace mge::python
