// SPDX-License-Identifier: Apache-2.0
#pragma once
// Translates C++ errors to Python exceptions, and back.

#include <Python.h>

#include <string>
#include <utility>

#include "libmge/base/error.h"
#include "libmge/base/rethrow.h"

namespace mge::python {

// Thrown after a failed Python call: the Python exception is already set.
struct PythonError : ThrownAsIs {};

// Sets the Python exception for the C++ exception in flight.
void set_python_error() noexcept;

// Creates megengine.InternalError etc. in the module. The classes are never destroyed.
void add_exceptions(PyObject* module);

// Clears the exception of an optional step, if any. Throws PythonError for exceptions that end a program,
// such as KeyboardInterrupt: Ctrl-C may arrive while any Python code runs.
void clear_exception();

// Clears the current Python exception and returns its message.
std::string taken_message();

// Runs `body`, which returns a pointer or an int. On an exception, sets the Python error and returns
// `failed`.
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
