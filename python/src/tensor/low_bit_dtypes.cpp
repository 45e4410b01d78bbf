// SPDX-License-Identifier: Apache-2.0
#include "python/src/tensor/low_bit_dtypes.h"

#include <nanobind/nanobind.h>
#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "libmge/base/text.h"
#include "python/src/errors.h"
#include "python/src/object_access.h"
#include "python/src/tensor/tensor_object.h"

namespace mge::python {
namespace {

constexpr std::array<int, 3> bit_counts = {1, 2, 4};

constexpr int largest(int bits) { return (1 << bits) - 1; }

// Sets a Python error and returns false if the number is not one of the dtype.
bool check(long long value, int bits) {
    if (value % 2 != 0 && std::abs(value) <= largest(bits)) return true;
    PyErr_Format(PyExc_ValueError,
                 "low bit dtype number error: value=%lld; allowed values are odd numbers between [%d,%d]",
                 value, -largest(bits), largest(bits));
    return false;
}

// --- scalars ---

struct Scalar {
    PyObject_HEAD int8_t value;
};

template <int bits>
struct LowBit {
    static PyTypeObject* type;
    static int number;  // NumPy's type number, -1 before registration
    static bool is_one(PyObject* object) { return PyObject_TypeCheck(object, type); }
};
template <int bits>
PyTypeObject* LowBit<bits>::type = nullptr;
template <int bits>
int LowBit<bits>::number = -1;

int8_t& value_of_scalar(PyObject* object) { return reinterpret_cast<Scalar*>(object)->value; }

// Returns the integer equal to a float near 0; else 0, which is invalid for every dtype here.
template <class T>
long long small_integer(T value) {
    if (!(value >= T(-128) && value <= T(127))) return 0;
    return T(int(value)) == value ? int(value) : 0;
}

// Reads an integer, also from a float. Sets a Python error and returns false for other objects.
template <int bits>
bool read(PyObject* object, int8_t& value) {
    long long given = 0;
    if (LowBit<bits>::is_one(object)) {
        given = value_of_scalar(object);
    } else if (PyFloat_Check(object)) {
        given = small_integer(PyFloat_AsDouble(object));
    } else {
        Reference index(PyNumber_Index(object));
        if (!index) {
            PyErr_Clear();
            PyErr_Format(PyExc_ValueError, "input type must be int, not %s", class_name(object).c_str());
            return false;
        }
        given = PyLong_AsLongLong(index.get());
        if (given == -1 && PyErr_Occurred()) return false;
    }
    value = int8_t(given);
    return check(given, bits);
}

template <int bits>
PyObject* make_scalar(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject* given = nullptr;
    int8_t value = 0;
    if (!PyArg_ParseTuple(args, "O", &given) || !read<bits>(given, value)) return nullptr;
    PyObject* made = PyType_GenericAlloc(type, 0);
    if (made) value_of_scalar(made) = value;
    return made;
}

PyObject* scalar_integer(PyObject* scalar) { return PyLong_FromLong(value_of_scalar(scalar)); }
PyObject* scalar_float(PyObject* scalar) { return PyFloat_FromDouble(value_of_scalar(scalar)); }
PyObject* scalar_text(PyObject* scalar) { return PyUnicode_FromFormat("%d", int(value_of_scalar(scalar))); }
Py_hash_t scalar_hash(PyObject* scalar) {
    Reference integer(scalar_integer(scalar));
    return integer ? PyObject_Hash(integer.get()) : -1;
}

template <int bits>
PyObject* compare_scalars(PyObject* a, PyObject* b, int how) {
    Reference mine(LowBit<bits>::is_one(a) ? scalar_integer(a) : Py_NewRef(a));
    Reference other(LowBit<bits>::is_one(b) ? scalar_integer(b) : Py_NewRef(b));
    return mine && other ? PyObject_RichCompare(mine.get(), other.get(), how) : nullptr;
}

constexpr const char* scalar_name(int bits) {
    return bits == 1   ? "megengine.core._imperative_rt.common.pyintb1"
           : bits == 2 ? "megengine.core._imperative_rt.common.pyintb2"
                       : "megengine.core._imperative_rt.common.pyintb4";
}

template <int bits>
PyTypeObject* make_scalar_type() {
    std::array slots{type_slot(Py_tp_repr, scalar_text),
                     type_slot(Py_tp_str, scalar_text),
                     type_slot(Py_tp_hash, scalar_hash),
                     type_slot(Py_tp_richcompare, compare_scalars<bits>),
                     type_slot(Py_tp_new, make_scalar<bits>),
                     type_slot(Py_nb_int, scalar_integer),
                     type_slot(Py_nb_float, scalar_float),
                     type_slot(Py_nb_index, scalar_integer),
                     PyType_Slot{Py_tp_doc, const_cast<char*>("An odd number of few bits.")},
                     PyType_Slot{0, nullptr}};
    PyType_Spec spec{scalar_name(bits), int(sizeof(Scalar)), 0, Py_TPFLAGS_DEFAULT, slots.data()};
    auto* generic = reinterpret_cast<PyObject*>(&PyGenericArrType_Type);
    PyObject* type = PyType_FromSpecWithBases(&spec, generic);
    if (!type) throw PythonError{};
    return reinterpret_cast<PyTypeObject*>(type);
}

// --- NumPy's dtype protocol ---

template <int bits>
PyObject* get_item(void* data, void*) {
    return PyLong_FromLong(*static_cast<int8_t*>(data));
}

template <int bits>
int set_item(PyObject* object, void* data, void*) {
    return read<bits>(object, *static_cast<int8_t*>(data)) ? 0 : -1;
}

void copy_one(void* to, void* from, int, void*) {
    if (from) std::memcpy(to, from, 1);
}

void copy_many(void* to, npy_intp to_stride, void* from, npy_intp from_stride, npy_intp count, int, void*) {
    if (!from) return;
    for (npy_intp i = 0; i < count; ++i)
        static_cast<char*>(to)[i * to_stride] = static_cast<char*>(from)[i * from_stride];
}

npy_bool is_not_zero(void* data, void*) { return *static_cast<int8_t*>(data) != 0; }

int compare_items(const void* a, const void* b, void*) {
    int x = *static_cast<const int8_t*>(a), y = *static_cast<const int8_t*>(b);
    return (x > y) - (x < y);
}

// Implements `arange`: extends the sequence of the first two elements. The smallest number follows the
// largest.
template <int bits>
int fill(void* data, npy_intp count, void*) {
    constexpr int numbers = 1 << bits;
    auto* items = static_cast<int8_t*>(data);
    if (count < 3) return 0;
    auto position = [](int8_t item) { return (item + largest(bits)) / 2; };
    int step = (position(items[1]) - position(items[0]) + numbers) % numbers;
    for (npy_intp i = 2; i < count; ++i)
        items[i] = int8_t(2 * ((position(items[i - 1]) + step) % numbers) - largest(bits));
    return 0;
}

template <typename T>
void cast_to(void* from, void* to, npy_intp count, void*, void*) {
    std::copy_n(static_cast<int8_t*>(from), count, static_cast<T*>(to));
}

template <int bits, typename T>
void cast_from(void* from, void* to, npy_intp count, void*, void*) {
    for (npy_intp i = 0; i < count; ++i) {
        T value = static_cast<T*>(from)[i];
        long long integer = 0;
        if constexpr (std::is_floating_point_v<T>)
            integer = small_integer(value);
        else if (std::in_range<long long>(value))
            integer = static_cast<long long>(value);
        if (!check(integer, bits)) return;
        static_cast<int8_t*>(to)[i] = int8_t(integer);
    }
}

template <int bits, typename T>
void add_casts(PyArray_Descr* mine, int other) {
    PyArray_Descr* theirs = PyArray_DescrFromType(other);
    int failed = PyArray_RegisterCastFunc(mine, other, cast_to<T>);
    failed |= PyArray_RegisterCastFunc(theirs, LowBit<bits>::number, cast_from<bits, T>);
    Py_DECREF(theirs);
    if (failed) throw PythonError{};
}

template <int bits>
void add_dtype() {
    static PyArray_ArrFuncs functions;
    static PyArray_DescrProto proto;
    PyArray_InitArrFuncs(&functions);
    functions.getitem = get_item<bits>;
    functions.setitem = set_item<bits>;
    functions.copyswap = copy_one;
    functions.copyswapn = copy_many;
    functions.nonzero = is_not_zero;
    functions.compare = compare_items;
    functions.fill = fill<bits>;
    PyTypeObject* type = LowBit<bits>::type = make_scalar_type<bits>();
    Py_SET_TYPE(reinterpret_cast<PyObject*>(&proto), &PyArrayDescr_Type);
    proto.typeobj = type;
    proto.kind = 'V';
    proto.type = 'r';
    proto.byteorder = '=';
    proto.flags = NPY_NEEDS_PYAPI | NPY_USE_GETITEM | NPY_USE_SETITEM;
    proto.elsize = 1;
    proto.alignment = 1;
    proto.f = &functions;
    int number = LowBit<bits>::number = PyArray_RegisterDataType(&proto);
    if (number < 0) throw PythonError{};
    Reference dtype(reinterpret_cast<PyObject*>(PyArray_DescrFromType(number)));
    if (PyObject_SetAttrString(reinterpret_cast<PyObject*>(type), "dtype", dtype.get()) != 0)
        throw PythonError{};
    auto* descr = reinterpret_cast<PyArray_Descr*>(dtype.get());
    add_casts<bits, npy_byte>(descr, NPY_BYTE);
    add_casts<bits, npy_ubyte>(descr, NPY_UBYTE);
    add_casts<bits, npy_short>(descr, NPY_SHORT);
    add_casts<bits, npy_ushort>(descr, NPY_USHORT);
    add_casts<bits, npy_int>(descr, NPY_INT);
    add_casts<bits, npy_uint>(descr, NPY_UINT);
    add_casts<bits, npy_long>(descr, NPY_LONG);
    add_casts<bits, npy_ulong>(descr, NPY_ULONG);
    add_casts<bits, npy_longlong>(descr, NPY_LONGLONG);
    add_casts<bits, npy_ulonglong>(descr, NPY_ULONGLONG);
    add_casts<bits, npy_float>(descr, NPY_FLOAT);
    add_casts<bits, npy_double>(descr, NPY_DOUBLE);
    // Arithmetic on arrays uses float64.
    if (PyArray_RegisterCanCast(descr, NPY_DOUBLE, NPY_NOSCALAR) != 0) throw PythonError{};
}

}  // namespace

PyObject* low_bit_dtype(int bits) {
    if (LowBit<4>::number < 0) {
        if (_import_array() < 0) throw PythonError{};
        add_dtype<1>(), add_dtype<2>(), add_dtype<4>();
    }
    if (std::find(bit_counts.begin(), bit_counts.end(), bits) == bit_counts.end())
        throw UserError(text("[low_bit_dtype] there are dtypes of 1, 2 and 4 bits, not of ", bits),
                        ErrorClass::value);
    int number = bits == 1 ? LowBit<1>::number : bits == 2 ? LowBit<2>::number : LowBit<4>::number;
    return reinterpret_cast<PyObject*>(PyArray_DescrFromType(number));
}

bool is_low_bit_dtype(PyObject* object) {
    if (LowBit<4>::number < 0 || !PyArray_DescrCheck(object)) return false;
    int number = reinterpret_cast<PyArray_Descr*>(object)->type_num;
    return number == LowBit<1>::number || number == LowBit<2>::number || number == LowBit<4>::number;
}

Reference low_bit_numbers(PyObject* data, PyObject* dtype) {
    Py_INCREF(dtype);
    Reference array(PyArray_FromAny(data, reinterpret_cast<PyArray_Descr*>(dtype), 0, 0,
                                    NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST, nullptr));
    if (!array) throw UserError(text("[tensor] ", taken_message()), ErrorClass::value);
    Reference bytes(PyArray_View(reinterpret_cast<PyArrayObject*>(array.get()),
                                 PyArray_DescrFromType(NPY_BYTE), nullptr));
    if (!bytes) throw PythonError{};
    return bytes;
}

void add_low_bit_dtypes(PyObject* module) {
    nanobind::borrow<nanobind::module_>(module).def(
        "low_bit_dtype", [](int bits) { return nanobind::steal(low_bit_dtype(bits)); }, nanobind::arg("bits"),
        "Returns the NumPy dtype of the odd numbers of 1, 2 or 4 bits.");
}

}  // namespace mge::python
