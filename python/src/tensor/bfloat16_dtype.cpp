// SPDX-License-Identifier: Apache-2.0
#include "python/src/tensor/bfloat16_dtype.h"

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "libmge/tensor/dtype.h"
#include "python/src/errors.h"
#include "python/src/object_access.h"
#include "python/src/tensor/tensor_object.h"

namespace mge::python {
namespace {

PyTypeObject* element_type = nullptr;
int number_of_dtype = -1;

// --- scalars ---

struct Element {
    PyObject_HEAD BFloat16 value;
};

BFloat16& value_of_element(PyObject* object) { return reinterpret_cast<Element*>(object)->value; }
bool is_element(PyObject* object) { return PyObject_TypeCheck(object, element_type); }

// Reads a number. Sets a Python error and returns false for other objects.
bool read_bfloat16(PyObject* object, BFloat16& value) {
    Reference number(PyNumber_Float(object));
    if (!number) return false;
    value = BFloat16(float(PyFloat_AsDouble(number.get())));
    return true;
}

PyObject* make_element(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject* given = nullptr;
    BFloat16 value;
    if (!PyArg_ParseTuple(args, "O", &given) || !read_bfloat16(given, value)) return nullptr;
    PyObject* made = PyType_GenericAlloc(type, 0);
    if (made) value_of_element(made) = value;
    return made;
}

PyObject* element_as_float(PyObject* element) { return PyFloat_FromDouble(float(value_of_element(element))); }

PyObject* element_as_int(PyObject* element) {
    Reference number(element_as_float(element));
    return number ? PyNumber_Long(number.get()) : nullptr;
}

PyObject* element_text(PyObject* element) {
    Reference number(element_as_float(element));
    return number ? PyObject_Repr(number.get()) : nullptr;
}

Py_hash_t element_hash(PyObject* element) {
    Reference number(element_as_float(element));
    return number ? PyObject_Hash(number.get()) : -1;
}

PyObject* compare_elements(PyObject* a, PyObject* b, int how) {
    Reference mine(is_element(a) ? element_as_float(a) : Py_NewRef(a));
    Reference other(is_element(b) ? element_as_float(b) : Py_NewRef(b));
    return mine && other ? PyObject_RichCompare(mine.get(), other.get(), how) : nullptr;
}

PyTypeObject* make_element_type() {
    std::array slots{
        type_slot(Py_tp_repr, element_text),
        type_slot(Py_tp_str, element_text),
        type_slot(Py_tp_hash, element_hash),
        type_slot(Py_tp_richcompare, compare_elements),
        type_slot(Py_tp_new, make_element),
        type_slot(Py_nb_int, element_as_int),
        type_slot(Py_nb_float, element_as_float),
        PyType_Slot{Py_tp_doc, const_cast<char*>("A float of 16 bits with the range of float32.")},
        PyType_Slot{0, nullptr}};
    // MegEngine's name: pickles of arrays contain it.
    PyType_Spec spec{"megengine.core._imperative_rt.pybfloat16", int(sizeof(Element)), 0, Py_TPFLAGS_DEFAULT,
                     slots.data()};
    PyObject* type = PyType_FromSpecWithBases(&spec, reinterpret_cast<PyObject*>(&PyGenericArrType_Type));
    if (!type) throw PythonError{};
    return reinterpret_cast<PyTypeObject*>(type);
}

// --- NumPy's dtype protocol ---

// Elements may be unaligned.
BFloat16 load_bfloat16(const void* data) {
    BFloat16 value;
    std::memcpy(&value, data, sizeof value);
    return value;
}

void store_bfloat16(void* data, float value) {
    BFloat16 rounded(value);
    std::memcpy(data, &rounded, sizeof rounded);
}

// The elements of a swapped array have the other byte order.
void swap_bytes(void* data) {
    auto* bytes = static_cast<char*>(data);
    std::swap(bytes[0], bytes[1]);
}

bool is_swapped(void* array) { return array && PyArray_ISBYTESWAPPED(static_cast<PyArrayObject*>(array)); }

PyObject* get_bfloat16(void* data, void* array) {
    BFloat16 value = load_bfloat16(data);
    if (is_swapped(array)) swap_bytes(&value);
    return PyFloat_FromDouble(float(value));
}

int set_bfloat16(PyObject* object, void* data, void* array) {
    BFloat16 value;
    if (!read_bfloat16(object, value)) return -1;
    if (is_swapped(array)) swap_bytes(&value);
    std::memcpy(data, &value, sizeof value);
    return 0;
}

void copy_bfloat16(void* to, void* from, int swaps, void*) {
    if (from) std::memcpy(to, from, sizeof(BFloat16));
    if (swaps) swap_bytes(to);
}

void copy_bfloat16s(void* to, npy_intp to_stride, void* from, npy_intp from_stride, npy_intp count, int swaps,
                    void* array) {
    for (npy_intp i = 0; i < count; ++i)
        copy_bfloat16(static_cast<char*>(to) + i * to_stride,
                      from ? static_cast<char*>(from) + i * from_stride : nullptr, swaps, array);
}

npy_bool is_bfloat16_not_zero(void* data, void*) { return float(load_bfloat16(data)) != 0; }

// NaN is larger than numbers, as in NumPy.
int compare_bfloat16s(const void* a, const void* b, void*) {
    float x = load_bfloat16(a), y = load_bfloat16(b);
    if (std::isnan(x) || std::isnan(y)) return int(std::isnan(x)) - int(std::isnan(y));
    return int(x > y) - int(x < y);
}

// Implements `arange`: extends the sequence of the first two elements.
int fill_bfloat16s(void* data, npy_intp count, void*) {
    auto* items = static_cast<BFloat16*>(data);
    if (count < 3) return 0;
    float first = items[0], step = float(items[1]) - first;
    for (npy_intp i = 2; i < count; ++i) items[i] = BFloat16(first + float(i) * step);
    return 0;
}

// Integers wrap. Infinity, NaN and floats beyond 64 bits become 0.
template <typename T>
T number_from(float value) {
    constexpr float end = 0x1p63f;
    if constexpr (std::is_same_v<T, bool>)
        return value != 0;
    else if constexpr (!std::is_integral_v<T>)
        return static_cast<T>(value);
    else if (value >= -end && value < end)
        return static_cast<T>(static_cast<int64_t>(value));
    else
        return value >= end && value < 2 * end ? static_cast<T>(static_cast<uint64_t>(value)) : T(0);
}

template <typename T>
void cast_from_bfloat16(void* from, void* to, npy_intp count, void*, void*) {
    for (npy_intp i = 0; i < count; ++i)
        static_cast<T*>(to)[i] = number_from<T>(static_cast<BFloat16*>(from)[i]);
}

template <typename T>
void cast_to_bfloat16(void* from, void* to, npy_intp count, void*, void*) {
    for (npy_intp i = 0; i < count; ++i)
        store_bfloat16(static_cast<BFloat16*>(to) + i, float(static_cast<T*>(from)[i]));
}

template <typename T>
void add_bfloat16_casts(PyArray_Descr* mine, int other) {
    PyArray_Descr* theirs = PyArray_DescrFromType(other);
    int failed = PyArray_RegisterCastFunc(mine, other, cast_from_bfloat16<T>);
    failed |= PyArray_RegisterCastFunc(theirs, number_of_dtype, cast_to_bfloat16<T>);
    Py_DECREF(theirs);
    if (failed) throw PythonError{};
}

void add_all_bfloat16_casts(PyArray_Descr* mine) {
    add_bfloat16_casts<bool>(mine, NPY_BOOL);
    add_bfloat16_casts<npy_byte>(mine, NPY_BYTE);
    add_bfloat16_casts<npy_ubyte>(mine, NPY_UBYTE);
    add_bfloat16_casts<npy_short>(mine, NPY_SHORT);
    add_bfloat16_casts<npy_ushort>(mine, NPY_USHORT);
    add_bfloat16_casts<npy_int>(mine, NPY_INT);
    add_bfloat16_casts<npy_uint>(mine, NPY_UINT);
    add_bfloat16_casts<npy_long>(mine, NPY_LONG);
    add_bfloat16_casts<npy_ulong>(mine, NPY_ULONG);
    add_bfloat16_casts<npy_longlong>(mine, NPY_LONGLONG);
    add_bfloat16_casts<npy_ulonglong>(mine, NPY_ULONGLONG);
    add_bfloat16_casts<Half>(mine, NPY_HALF);
    add_bfloat16_casts<npy_float>(mine, NPY_FLOAT);
    add_bfloat16_casts<npy_double>(mine, NPY_DOUBLE);
}

}  // namespace

PyObject* make_bfloat16_dtype() {
    static PyArray_ArrFuncs functions;
    static PyArray_DescrProto proto;
    if (_import_array() < 0) throw PythonError{};  // NumPy's functions for this source
    PyArray_InitArrFuncs(&functions);
    functions.getitem = get_bfloat16;
    functions.setitem = set_bfloat16;
    functions.copyswap = copy_bfloat16;
    functions.copyswapn = copy_bfloat16s;
    functions.nonzero = is_bfloat16_not_zero;
    functions.compare = compare_bfloat16s;
    functions.fill = fill_bfloat16s;
    element_type = make_element_type();
    Py_SET_TYPE(reinterpret_cast<PyObject*>(&proto), &PyArrayDescr_Type);
    proto.typeobj = element_type;
    proto.kind = 'V';
    proto.type = 'p';
    proto.byteorder = '=';
    proto.flags = NPY_NEEDS_PYAPI | NPY_USE_GETITEM | NPY_USE_SETITEM;
    proto.elsize = sizeof(BFloat16);
    proto.alignment = alignof(BFloat16);
    proto.f = &functions;
    number_of_dtype = PyArray_RegisterDataType(&proto);
    if (number_of_dtype < 0) throw PythonError{};
    PyArray_Descr* dtype = PyArray_DescrFromType(number_of_dtype);
    auto* type = reinterpret_cast<PyObject*>(element_type);
    if (PyObject_SetAttrString(type, "dtype", reinterpret_cast<PyObject*>(dtype)) != 0) throw PythonError{};
    add_all_bfloat16_casts(dtype);
    // NumPy's functions compute in float64.
    if (PyArray_RegisterCanCast(dtype, NPY_DOUBLE, NPY_NOSCALAR) != 0) throw PythonError{};
    return reinterpret_cast<PyObject*>(dtype);
}

int bfloat16_number() { return number_of_dtype; }

}  // namespace mge::python
