// SPDX-License-Identifier: Apache-2.0
#include "python/src/quantised.h"

#include <vector>

#include "python/src/conversion.h"
#include "python/src/errors.h"

namespace mge::python {

bool quantised_tensors = false;

namespace {

Reference rule(const char* name) {
    Reference rules(PyImport_ImportModule("megengine.core.quantised"));
    Reference function(rules ? PyObject_GetAttrString(rules.get(), name) : nullptr);
    if (!function) throw PythonError{};
    return function;
}

Reference metadata_of(PyObject* dtype) {
    Reference metadata(PyObject_GetAttrString(dtype, "metadata"));
    if (!metadata) throw PythonError{};
    return metadata;
}

}  // namespace

Reference quantised_dtype(PyObject* dtype, PyObject* data) {
    Reference candidate;
    if (dtype != Py_None)
        candidate = Reference::borrow(dtype);
    else if (data && is_array(data))
        candidate = Reference(PyObject_GetAttrString(data, "dtype"));
    // A dtype without metadata is none; most have none.
    if (!candidate || !is_numpy_dtype(candidate.get()) || metadata_of(candidate.get()).get() == Py_None)
        return {};
    Reference found(PyObject_CallOneArg(rule("tensor_dtype").get(), candidate.get()));
    if (!found) throw PythonError{};
    return found.get() == Py_None ? Reference() : found;
}

void give_dtype(PyObject* object, PyObject* quantised) {
    quantised_tensors |= quantised != nullptr;
    Py_XSETREF(as_tensor(object)->quantised, Py_XNewRef(quantised));
}

void take_over(PyObject* object, PyObject* other) {
    give_value(object, value_of(other));
    give_dtype(object, as_tensor(other)->quantised);
}

PyObject* wrap_like(Tensor value, PyObject* other) {
    PyObject* made = wrap_tensor(std::move(value));
    give_dtype(made, as_tensor(other)->quantised);
    as_tensor(made)->format = as_tensor(other)->format;
    return made;
}

bool have_same_dtype(PyObject* quantised, PyObject* other) {
    if (!quantised || !other) return quantised == other;
    int equal = PyObject_RichCompareBool(metadata_of(quantised).get(), metadata_of(other).get(), Py_EQ);
    if (equal < 0) throw PythonError{};
    return equal == 1;
}

PyObject* call_quantised(const OpInfo& op, PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
    Reference function = rule("call");
    Reference name(PyUnicode_FromStringAndSize(op.name.data(), Py_ssize_t(op.name.size())));
    if (!name) throw PythonError{};
    Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
    std::vector<PyObject*> all{name.get()};
    all.insert(all.end(), args, args + positional + named);
    return PyObject_Vectorcall(function.get(), all.data(), size_t(positional) + 1, keywords);
}

}  // namespace mge::python
