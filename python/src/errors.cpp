// SPDX-License-Identifier: Apache-2.0
#include "python/src/errors.h"

#include <cstring>
#include <new>

#include "python/src/object_access.h"
#include "python/src/reference.h"

namespace mge::python {
namespace {

PyObject* internal_error = nullptr;
PyObject* trace_error = nullptr;
PyObject* crypto_error = nullptr;
// Subclasses of Python's closest class and of RuntimeError, which MegEngine raises for all errors of its
// library.
PyObject* out_of_range_error = nullptr;
PyObject* refused_value_error = nullptr;
PyObject* refused_type_error = nullptr;
PyObject* refused_assertion_error = nullptr;

PyObject* class_of(const Error& error) {
    if (dynamic_cast<const InternalError*>(&error)) return internal_error;
    if (dynamic_cast<const MemoryError*>(&error)) return PyExc_MemoryError;
    if (error.code() == ErrorCode::crypto) return crypto_error;
    switch (error.error_class()) {
        case ErrorClass::value:
            return refused_value_error;
        case ErrorClass::type:
            return refused_type_error;
        case ErrorClass::index:
            return out_of_range_error;
        case ErrorClass::key:
            return PyExc_KeyError;
        case ErrorClass::assertion:
            return refused_assertion_error;
        case ErrorClass::not_implemented:
            return PyExc_NotImplementedError;
        case ErrorClass::runtime:
            break;
    }
    constexpr std::string_view trace_prefix = "trace error because ";
    return std::string_view(error.what()).starts_with(trace_prefix) ? trace_error : PyExc_RuntimeError;
}

PyObject* add_class(PyObject* module, const char* name, PyObject* base, const char* doc) {
    Reference made(PyErr_NewExceptionWithDoc((std::string("megengine.") + name).c_str(), doc, base, nullptr));
    if (!made || PyModule_AddObjectRef(module, name, made.get()) != 0) throw PythonError{};
    return made.release();
}

PyObject* add_runtime_class(PyObject* module, const char* name, PyObject* closest, const char* doc) {
    Reference bases(PyTuple_Pack(2, closest, PyExc_RuntimeError));
    if (!bases) throw PythonError{};
    return add_class(module, name, bases.get(), doc);
}

// Messages may contain text that is not UTF-8.
void set_error(PyObject* exception_class, const char* message) {
    Reference decoded(PyUnicode_DecodeUTF8(message, Py_ssize_t(std::strlen(message)), "backslashreplace"));
    if (decoded) PyErr_SetObject(exception_class, decoded.get());
}

// Programs compare the message of a TraceError with MegEngine's. The details are a note of the exception.
void set_trace_error(std::string_view message) {
    size_t end = message.find(": ");
    set_error(trace_error, std::string(message.substr(0, end)).c_str());
    if (end == std::string_view::npos) return;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    Reference notes(Py_BuildValue("[s]", std::string(message.substr(end + 2)).c_str()));
    if (!notes || PyObject_SetAttrString(value, "__notes__", notes.get()) != 0) PyErr_Clear();
    PyErr_Restore(type, value, trace);
}

}  // namespace

void set_python_error() noexcept {
    try {
        throw;
    } catch (const PythonError&) {
    } catch (const Error& error) {
        PyObject* found = class_of(error);
        found == trace_error ? set_trace_error(error.what()) : set_error(found, error.what());
    } catch (const std::bad_alloc&) {
        PyErr_SetString(PyExc_MemoryError, "the system has no memory left");
    } catch (const std::exception& error) {
        set_error(internal_error, error.what());
    } catch (...) {
        PyErr_SetString(internal_error, "an unknown C++ exception");
    }
}

void clear_exception() {
    if (!PyErr_Occurred()) return;
    if (!PyErr_ExceptionMatches(PyExc_Exception)) throw PythonError{};
    PyErr_Clear();
}

void add_exceptions(PyObject* module) {
    internal_error = add_class(module, "InternalError", PyExc_RuntimeError,
                               "A violated invariant inside the library, with its location in the source.");
    trace_error = add_class(module, "TraceError", PyExc_RuntimeError,
                            "A call of a traced function differs from its recording.");
    crypto_error = add_class(module, "CryptoError", PyExc_RuntimeError,
                             "A wrong key, or an encrypted file that was changed.");
    out_of_range_error =
        add_runtime_class(module, "OutOfRangeError", PyExc_IndexError,
                          "An index beyond the end of its axis. Also an IndexError, and MegEngine's class.");
    refused_value_error =
        add_runtime_class(module, "RefusedValueError", PyExc_ValueError,
                          "A value that an operator refuses. Also a ValueError, and MegEngine's class.");
    refused_type_error =
        add_runtime_class(module, "RefusedTypeError", PyExc_TypeError,
                          "A dtype or type that an operator refuses. Also a TypeError, and MegEngine's "
                          "class.");
    refused_assertion_error = add_runtime_class(
        module, "RefusedAssertionError", PyExc_AssertionError,
        "A condition that MegEngine asserts in Python or in its library. Also an AssertionError.");
}

std::string taken_message() {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    Reference message(value ? PyObject_Str(value) : nullptr);
    const char* utf8 = message ? utf8_of(message.get()) : nullptr;
    std::string taken = utf8 ? utf8 : "unknown reason";
    Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(trace);
    return taken;
}

}  // namespace mge::python
