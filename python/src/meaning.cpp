// SPDX-License-Identifier: Apache-2.0
#include "python/src/meaning.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "libmge/device/default_device.h"
#include "python/src/errors.h"
#include "python/src/object_access.h"
#include "python/src/tensor/conversion.h"
#include "python/src/tensor/low_bit_dtypes.h"

namespace mge::python {

bool tensors_with_meaning = false;

namespace {

constexpr const char* quantised_rules = "megengine.core.quantised";
constexpr const char* complex_rules = "megengine.core.complex_numbers";
constexpr const char* low_bit_rules = "megengine.core.low_bit";

Reference rule(const char* rules, const char* name) {
    Reference module(PyImport_ImportModule(rules));
    Reference function(module ? PyObject_GetAttrString(module.get(), name) : nullptr);
    if (!function) throw PythonError{};
    return function;
}

Reference metadata_of(PyObject* dtype) {
    Reference metadata(PyObject_GetAttrString(dtype, "metadata"));
    if (!metadata) throw PythonError{};
    return metadata;
}

bool has_metadata(PyObject* dtype) { return metadata_of(dtype).get() != Py_None; }

// Returns the requested dtype, or that of the data, without inspecting elements; null if there is none.
Reference requested_dtype(PyObject* dtype, PyObject* data) {
    if (dtype != Py_None) return Reference::borrow(dtype);
    if (!data) return {};
    if (PyComplex_Check(data)) return complex_dtype();
    return is_numpy_value(data) ? Reference(PyObject_GetAttrString(data, "dtype")) : Reference();
}

}  // namespace

bool is_complex(PyObject* tensor) { return meaning(tensor) && is_complex_dtype(meaning(tensor)); }
bool is_low_bit(PyObject* tensor) { return meaning(tensor) && is_low_bit_dtype(meaning(tensor)); }

Reference meaning_of(PyObject* dtype, PyObject* data) {
    Reference candidate = requested_dtype(dtype, data);
    if (!candidate) return {};
    if (is_complex_dtype(candidate.get())) return complex_dtype();
    if (is_low_bit_dtype(candidate.get())) return candidate;
    if (!is_numpy_dtype(candidate.get()) || !has_metadata(candidate.get())) return {};
    Reference found(
        PyObject_CallFunctionObjArgs(rule(quantised_rules, "tensor_dtype").get(), candidate.get(), nullptr));
    if (!found) throw PythonError{};
    return found.get() == Py_None ? Reference() : found;
}

Reference plain_data(PyObject* meaning, PyObject* data) {
    if (meaning && is_low_bit_dtype(meaning)) return low_bit_numbers(data, meaning);
    if (!meaning || !is_complex_dtype(meaning)) return Reference::borrow(data);
    Reference pairs(PyObject_CallFunctionObjArgs(rule(complex_rules, "pairs_of").get(), data, nullptr));
    if (!pairs) throw PythonError{};
    return pairs;
}

bool is_made_of(PyObject* meaning, DType dtype) {
    if (is_low_bit_dtype(meaning)) return dtype == DType::i8;
    return dtype == (is_complex_dtype(meaning) ? DType::f32 : parse_dtype(meaning));
}

void give_meaning(PyObject* object, PyObject* meaning) {
    tensors_with_meaning |= meaning != nullptr;
    set_reference(as_tensor(object)->meaning, Py_XNewRef(meaning));
}

void take_over(PyObject* object, PyObject* other) {
    give_value(object, value_of(other));
    give_meaning(object, meaning(other));
}

PyObject* wrap_like(Tensor value, PyObject* other) {
    PyObject* made = wrap_tensor(std::move(value));
    give_meaning(made, meaning(other));
    as_tensor(made)->format = as_tensor(other)->format;
    return made;
}

bool have_same_meaning(PyObject* a, PyObject* b) {
    if (!a || !b || is_low_bit_dtype(a) || is_low_bit_dtype(b)) return a == b;
    if (is_complex_dtype(a) != is_complex_dtype(b)) return false;
    int equal = PyObject_RichCompareBool(metadata_of(a).get(), metadata_of(b).get(), Py_EQ);
    if (equal < 0) throw PythonError{};
    return equal == 1;
}

PyObject* call_by_meaning(const OpInfo& op, PyObject* const* args, Py_ssize_t positional,
                          PyObject* keywords) {
    Py_ssize_t count = positional + (keywords ? PyTuple_Size(keywords) : 0);
    auto any = [&](bool is_such(PyObject * tensor)) {
        return std::any_of(args, args + count, [&](PyObject* argument) {
            return argument && is_tensor(argument) && is_such(argument);
        });
    };
    // Numbers beside the Tensors become Tensors on the same device.
    std::optional<DefaultDevice> beside;
    for (Py_ssize_t i = 0; i < count && !beside; ++i)
        if (args[i] && is_tensor(args[i])) beside.emplace(value_of(args[i]).device());
    const char* rules = any(is_low_bit) ? low_bit_rules : any(is_complex) ? complex_rules : quantised_rules;
    Reference function = rule(rules, "call");
    Reference name(PyUnicode_FromStringAndSize(op.name.data(), Py_ssize_t(op.name.size())));
    if (!name) throw PythonError{};
    std::vector<PyObject*> all{name.get()};
    all.insert(all.end(), args, args + count);
    return PyObject_Vectorcall(function.get(), all.data(), size_t(positional) + 1, keywords);
}

}  // namespace mge::python
