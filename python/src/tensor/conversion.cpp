// SPDX-License-Identifier: Apache-2.0
#include "python/src/tensor/conversion.h"

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>

#include "libmge/device/default_device.h"
#include "libmge/eager/trace.h"
#include "libmge/op/apply.h"
#include "libmge/tensor/dtype_dispatch.h"
#include "libmge/tensor/narrow.h"
#include "python/src/device_object.h"
#include "python/src/errors.h"
#include "python/src/meaning.h"
#include "python/src/object_access.h"
#include "python/src/reference.h"
#include "python/src/subgraph_binding.h"
#include "python/src/tensor/bfloat16_dtype.h"
#include "python/src/tensor/low_bit_dtypes.h"
#include "python/src/tensor/tensor_object.h"

namespace mge::python {
namespace {

constexpr size_t numpy_max_rank = 64;

std::array<PyObject*, dtype_count> numpy_dtypes{};

// NumPy's type number, or that of a type with the same bits if NumPy has none.
int type_number(DType dtype) {
    constexpr int numbers[] = {NPY_NOTYPE, NPY_BOOL,  NPY_UBYTE, NPY_BYTE, NPY_USHORT, NPY_SHORT, NPY_UINT,
                               NPY_INT,    NPY_ULONG, NPY_LONG,  NPY_HALF, NPY_NOTYPE, NPY_FLOAT, NPY_DOUBLE};
    if (dtype == DType::bf16) return bfloat16_number();
    return is_narrow(dtype) ? NPY_UBYTE : numbers[size_t(dtype)];
}

// Makes a dtype with a name in its metadata, for types that NumPy lacks.
PyObject* make_named_dtype(const char* elements, std::string_view dtype_name) {
    Reference numpy(PyImport_ImportModule("numpy"));
    if (!numpy) throw PythonError{};
    Reference metadata(Py_BuildValue("{s{ss}}", "mgb_dtype", "name", std::string(dtype_name).c_str()));
    Reference arguments(Py_BuildValue("(s)", elements));
    Reference keywords(Py_BuildValue("{sO}", "metadata", metadata.get()));
    Reference type(PyObject_GetAttrString(numpy.get(), "dtype"));
    if (!metadata || !arguments || !keywords || !type) throw PythonError{};
    PyObject* dtype = PyObject_Call(type.get(), arguments.get(), keywords.get());
    if (!dtype) throw PythonError{};
    return dtype;
}

// Returns the dtype of the package ml_dtypes, if installed.
PyObject* make_narrow_dtype(DType dtype) {
    std::string name(name_of(dtype));
    Reference package(PyImport_ImportModule("ml_dtypes"));
    Reference type(package ? PyObject_GetAttrString(package.get(), name.c_str()) : nullptr);
    clear_exception();
    PyArray_Descr* descr = nullptr;
    if (type && PyArray_DescrConverter(type.get(), &descr)) return reinterpret_cast<PyObject*>(descr);
    clear_exception();
    return make_named_dtype("uint8", name);
}

// Returns the name in the metadata of a dtype made here; "" for others.
std::string name_in_metadata(PyArray_Descr* descr) {
    Reference metadata(PyObject_GetAttrString(reinterpret_cast<PyObject*>(descr), "metadata"));
    if (!metadata || metadata.get() == Py_None) {
        clear_exception();
        return {};
    }
    Reference about(PyMapping_GetItemString(metadata.get(), "mgb_dtype"));
    Reference name(about ? PyMapping_GetItemString(about.get(), "name") : nullptr);
    const char* utf8 = name && PyUnicode_Check(name.get()) ? utf8_of(name.get()) : nullptr;
    std::string found = utf8 ? utf8 : "";
    clear_exception();
    return found;
}

bool is_bfloat16(PyArray_Descr* descr) { return descr->type_num == bfloat16_number(); }

// Returns the tensor dtype equal to a NumPy dtype, or DType::none.
DType exact_dtype(PyArray_Descr* descr) {
    if (is_bfloat16(descr)) return DType::bf16;
    switch (descr->type_num) {
        case NPY_BOOL:
            return DType::boolean;
        case NPY_UBYTE:
            return DType::u8;
        case NPY_BYTE:
            return DType::i8;
        case NPY_USHORT:
            return DType::u16;
        case NPY_SHORT:
            return DType::i16;
        case NPY_INT:
            return DType::i32;
        case NPY_HALF:
            return DType::f16;
        case NPY_FLOAT:
            return DType::f32;
        default:
            return DType::none;
    }
}

// True for dtypes of Tensors. Models of other formats have more.
bool is_of_tensors(DType dtype) {
    return dtype != DType::none && dtype != DType::i64 && is_among(dtype, DTypes::common);
}

std::string name_of_dtype(PyArray_Descr* descr) {
    Reference text(PyObject_Str(reinterpret_cast<PyObject*>(descr)));
    const char* utf8 = text ? utf8_of(text.get()) : nullptr;
    return utf8 ? utf8 : "?";
}

// Returns the constructor's dtype for a NumPy dtype: float64 and int64 are narrowed.
DType narrowed_dtype(PyArray_Descr* descr) {
    if (DType exact = exact_dtype(descr); exact != DType::none) return exact;
    if (descr->type_num == NPY_DOUBLE) return DType::f32;
    if (descr->type_num == NPY_LONG || descr->type_num == NPY_LONGLONG) return DType::i32;
    throw UserError(text("[tensor] numpy dtype ", name_of_dtype(descr),
                         " is not supported; allowed are bool, (u)int8, (u)int16, int32, int64 (as int32), ",
                         "float16, float32 and float64 (as float32)"));
}

PyArrayObject* as_array(const Reference& reference) {
    return reinterpret_cast<PyArrayObject*>(reference.get());
}

bool is_container(PyObject* object) {
    return PySequence_Check(object) && !PyArray_Check(object) && !is_tensor(object) &&
           !PyUnicode_Check(object) && !PyBytes_Check(object) && !PyDict_Check(object);
}

// Refuses a list nested deeper than the maximum rank, perhaps because it contains itself: NumPy would follow
// every path. Checking the first elements suffices, because NumPy stops where others are nested deeper.
void refuse_deep_nesting(PyObject* data) {
    constexpr int most_lists = max_rank + 1;  // one axis too many has its own message
    Reference part = Reference::borrow(data);
    for (int lists = 0; part && is_container(part.get()) && PySequence_Size(part.get()) > 0; ++lists) {
        if (lists == most_lists)
            throw UserError(text("[tensor] a ", class_name(data), " is nested deeper than ", max_rank,
                                 " levels, the largest rank, or holds itself"),
                            ErrorClass::value);
        part = Reference(PySequence_GetItem(part.get(), 0));
    }
    clear_exception();  // NumPy fails again with a better message
}

// Converts any Python data to an array. Lists of tensors become arrays of their numbers.
Reference to_array(PyObject* data) {
    if (data == Py_None) {
        npy_intp zero = 0;
        Reference empty(PyArray_SimpleNew(1, &zero, NPY_FLOAT));
        if (!empty) throw PythonError{};
        return empty;
    }
    refuse_deep_nesting(data);
    Reference array(PyArray_FROM_O(data));
    if (!array) {
        // For example ragged lists. All bad data raises one class of error.
        std::string reason = taken_message();
        throw UserError(text("[tensor] no array can be made of a ", class_name(data), ": ", reason),
                        ErrorClass::value);
    }
    return array;
}

// Refuses elements of an object array that are neither numbers nor Tensors; NumPy would convert None to NaN.
void refuse_objects(const Reference& array, PyObject* data) {
    Reference elements(PyObject_GetAttrString(array.get(), "flat"));
    if (!elements) throw PythonError{};
    while (Reference element{PyIter_Next(elements.get())}) {
        PyObject* object = element.get();
        bool is_number = PyNumber_Check(object) || PyObject_HasAttrString(object, "__array__");
        if (object != Py_None && is_number) continue;
        bool is_whole = object == data;
        throw UserError(text("[tensor] no Tensor can be made of ", is_whole ? "a " : "a list with a ",
                             class_name(object), is_whole ? "" : " in it"),
                        ErrorClass::type);
    }
    if (PyErr_Occurred()) throw PythonError{};
}

// Returns a dense array with elements of a type in native byte order.
Reference cast_array(const Reference& array, int type_number) {
    PyArray_Descr* descr = PyArray_DescrFromType(type_number);
    Reference cast(PyArray_FromArray(as_array(array), descr,
                                     NPY_ARRAY_CARRAY_RO | NPY_ARRAY_FORCECAST | NPY_ARRAY_NOTSWAPPED));
    if (!cast) throw PythonError{};
    return cast;
}

Shape shape_of(const Reference& array) {
    int rank = PyArray_NDIM(as_array(array));
    std::array<int64_t, numpy_max_rank> dims;
    for (int i = 0; i < rank; ++i) dims[size_t(i)] = PyArray_DIM(as_array(array), i);
    return Shape(std::span<const int64_t>(dims.data(), size_t(rank)));
}

// Tensors hold at most 32 bits; MegEngine keeps the lowest.
void warn_of_wrapping() {
    if (PyErr_WarnEx(PyExc_RuntimeWarning,
                     "[tensor] integers beyond 32 bits wrap around: a Tensor has int32 for int64", 1) < 0)
        throw PythonError{};
}

void warn_if_wrapping(const Reference& array) {
    int type = PyArray_DESCR(as_array(array))->type_num;
    if (type != NPY_LONG && type != NPY_LONGLONG) return;
    Reference dense = cast_array(array, NPY_INT64);
    auto* data = static_cast<const int64_t*>(PyArray_DATA(as_array(dense)));
    std::span<const int64_t> values(data, size_t(PyArray_SIZE(as_array(dense))));
    if (std::ranges::any_of(values, [](int64_t value) { return value != int32_t(value); }))
        warn_of_wrapping();
}

Tensor tensor_from_array(const Reference& array, DType dtype, DeviceId device) {
    if (dtype == DType::i32) warn_if_wrapping(array);
    if (dtype == DType::bf16 && !is_bfloat16(PyArray_DESCR(as_array(array)))) {
        Reference floats = cast_array(array, NPY_FLOAT);
        std::vector<BFloat16> halves(size_t(PyArray_SIZE(as_array(floats))));
        auto* data = static_cast<const float*>(PyArray_DATA(as_array(floats)));
        for (size_t i = 0; i < halves.size(); ++i) halves[i] = BFloat16(data[i]);
        return tensor_from_host({dtype, shape_of(floats), {}}, halves.data(), device);
    }
    Reference dense = cast_array(array, type_number(dtype));
    return tensor_from_host({dtype, shape_of(dense), {}}, PyArray_DATA(as_array(dense)), device);
}

enum class Category { boolean, integer, floating };
Category category_of(DType dtype) {
    return dtype == DType::boolean ? Category::boolean
           : is_float(dtype)       ? Category::floating
                                   : Category::integer;
}

// A Python number: its category and value. A double is exact for all values of i32 and f32.
struct Number {
    Category category;
    double value;
};

std::optional<Number> read_number(PyObject* data) {
    if (PyBool_Check(data)) return Number{Category::boolean, data == Py_True ? 1.0 : 0.0};
    if (PyFloat_CheckExact(data)) return Number{Category::floating, PyFloat_AsDouble(data)};
    if (PyLong_CheckExact(data)) {
        int overflow = 0;
        long long value = PyLong_AsLongLongAndOverflow(data, &overflow);
        if (!overflow) return Number{Category::integer, double(value)};
        double large = PyLong_AsDouble(data);
        if (!PyErr_Occurred()) return Number{Category::integer, large};
        PyErr_Clear();
        throw UserError("[tensor] the integer does not fit in a float", ErrorClass::value);
    }
    return std::nullopt;
}

// Numbers beside tensors often repeat: their tensors are cached per thread.
Tensor number_tensor(double value, DType dtype, DeviceId device) {
    struct Kept {
        uint64_t bits = 0;
        DType dtype = DType::none;
        DeviceId device;
        Tensor tensor;
    };
    constexpr size_t kept_numbers = 64;
    thread_local std::array<Kept, kept_numbers> kept;
    uint64_t bits = std::bit_cast<uint64_t>(value);
    Kept& slot = kept[(bits * 0x9e3779b97f4a7c15u >> 52 ^ uint64_t(dtype)) % kept_numbers];
    if (slot.dtype != dtype || slot.bits != bits || !(slot.device == device) ||
        slot.device.is_default != device.is_default) {
        slot = {bits, dtype, device, scalar_tensor(value, dtype, device)};
        slot.tensor.impl()->symbol = literal_mark;
    }
    return slot.tensor;
}

Tensor wrapped_int_tensor(PyObject* data, DType dtype, DeviceId device) {
    int overflow = 0;
    long long value = PyLong_AsLongLongAndOverflow(data, &overflow);
    if (overflow) throw UserError("[tensor] the integer does not fit in 64 bits", ErrorClass::value);
    if (dtype == DType::i32 && value != int32_t(value)) warn_of_wrapping();
    Tensor result;
    // Integers wrap around like NumPy's casts; a double would lose low bits.
    dispatch_dtype(dtype, IntTypes{}, [&]<class T>(std::type_identity<T>) {
        auto element = T(value);
        result = tensor_from_host({dtype, {}, {}}, &element, device);
    });
    return result;
}

[[noreturn]] void throw_operand_dtype(PyArray_Descr* descr, DType other) {
    throw UserError(text("unsupported numpy dtype ", name_of_dtype(descr), " beside a tensor of ", other,
                         ": convert the array, for example with astype('float32')"));
}

// An array beside tensors counts as a tensor. An array of a lower category takes their dtype.
DType operand_dtype(PyArray_Descr* descr, DType other) {
    DType exact = exact_dtype(descr);
    bool is_wide_int = exact == DType::none && PyTypeNum_ISINTEGER(descr->type_num);
    if (is_wide_int && is_float(other) && other != DType::bf16) return other;
    // Tensors have these dtypes only as results of files of other programs.
    bool is_wide = other == DType::i64 || other == DType::u64 || other == DType::u32 || other == DType::f64;
    if (is_wide && PyArray_EquivTypenums(descr->type_num, type_number(other))) return other;
    if (exact == DType::none) throw_operand_dtype(descr, other);
    // NumPy's promotion of signed with unsigned, which tensors lack.
    if (exact == DType::u8 && other == DType::i8) return DType::i16;
    if (exact == DType::u8 && (other == DType::i16 || other == DType::i32)) return other;
    if (exact == DType::u16 && (other == DType::i8 || other == DType::i16)) return DType::i32;
    if (exact == DType::u16 && other == DType::i32) return other;
    if (category_of(exact) >= category_of(other)) return exact;
    return other == DType::bf16 ? DType::f32 : other;
}

}  // namespace

void import_numpy() {
    if (_import_array() < 0) throw PythonError{};
    make_bfloat16_dtype();
    for (int i = 1; i < dtype_count && !is_narrow(DType(i)); ++i)
        numpy_dtypes[size_t(i)] = reinterpret_cast<PyObject*>(PyArray_DescrFromType(type_number(DType(i))));
}

DType parse_dtype(PyObject* object) {
    if (PyUnicode_Check(object)) {
        const char* name = utf8_of(object);
        if (!name) throw PythonError{};
        if (auto dtype = dtype_from_name(name); dtype && is_of_tensors(*dtype)) return *dtype;
    }
    if (object == Py_None) throw UserError("[dtype] None is not a dtype", ErrorClass::type);
    if (PyList_Check(object) || PyTuple_Check(object) || PyDict_Check(object))
        throw UserError(text("[dtype] a ", class_name(object), " is not a dtype of tensors"),
                        ErrorClass::type);
    PyArray_Descr* descr = nullptr;
    if (!PyArray_DescrConverter(object, &descr)) throw PythonError{};
    Reference owner(reinterpret_cast<PyObject*>(descr));
    DType dtype = exact_dtype(descr);
    if (dtype == DType::none)
        throw UserError(text("[dtype] ", name_of_dtype(descr),
                             " is not a dtype of tensors; allowed are bool, uint8, int8, uint16, int16, ",
                             "int32, float16, bfloat16, float32"));
    return dtype;
}

bool is_array(PyObject* object) { return PyArray_Check(object); }
bool is_numpy_dtype(PyObject* object) { return PyArray_DescrCheck(object); }
bool is_numpy_value(PyObject* data) { return PyArray_Check(data) || PyArray_IsScalar(data, Generic); }

Reference complex_dtype() {
    return Reference(reinterpret_cast<PyObject*>(PyArray_DescrFromType(NPY_CFLOAT)));
}

bool is_complex_dtype(PyObject* object) {
    if (PyArray_DescrCheck(object))
        return PyTypeNum_ISCOMPLEX(reinterpret_cast<PyArray_Descr*>(object)->type_num);
    if (PyUnicode_Check(object)) return PyUnicode_CompareWithASCIIString(object, "complex64") == 0;
    return object == reinterpret_cast<PyObject*>(&PyCFloatArrType_Type) ||
           object == reinterpret_cast<PyObject*>(&PyComplex_Type);
}

PyObject* numpy_dtype(DType dtype) {
    PyObject*& known = numpy_dtypes[size_t(dtype)];
    if (!known) known = make_narrow_dtype(dtype);  // lazily, because importing a package is slow
    return known;
}

DeviceId parse_device_argument(PyObject* object) {
    if (!object || object == Py_None) return default_device();
    if (auto id = id_of_device_object(object)) return *id;
    if (!PyUnicode_Check(object))
        throw UserError(text("[device] a device is a name such as 'cpu0', got ", class_name(object)),
                        ErrorClass::type);
    const char* name = utf8_of(object);
    if (!name) throw PythonError{};
    return parse_device(name);
}

Tensor tensor_from_python(PyObject* data, DType dtype, DeviceId device) {
    if (PyLong_CheckExact(data) && !is_float(dtype) && dtype != DType::boolean)
        return wrapped_int_tensor(data, dtype == DType::none ? DType::i32 : dtype, device);
    if (auto number = read_number(data)) {
        if (dtype == DType::none) dtype = number->category == Category::boolean ? DType::boolean : DType::f32;
        return scalar_tensor(number->value, dtype, device);
    }
    Reference array = to_array(data);
    if (is_low_bit_dtype(reinterpret_cast<PyObject*>(PyArray_DESCR(as_array(array)))))
        array = cast_array(array, NPY_BYTE);
    PyArray_Descr* descr = PyArray_DESCR(as_array(array));
    bool is_number =
        PyTypeNum_ISNUMBER(descr->type_num) || PyTypeNum_ISBOOL(descr->type_num) || is_bfloat16(descr);
    if (descr->type_num == NPY_OBJECT && PyArray_SIZE(as_array(array)) > 0) {
        // Lists that contain Tensors or integers arrive as object arrays.
        refuse_objects(array, data);
        array = cast_array(array, dtype != DType::none && !is_float(dtype) ? NPY_LONG : NPY_DOUBLE);
        descr = PyArray_DESCR(as_array(array));
        is_number = true;
    }
    if (dtype == DType::none || !is_number || PyTypeNum_ISCOMPLEX(descr->type_num))
        dtype = dtype == DType::none || !is_number ? narrowed_dtype(descr) : (narrowed_dtype(descr), dtype);
    return tensor_from_array(array, dtype, device);
}

namespace {

// Returns the elements unchanged if they have the dtype.
Tensor exact_tensor(const Reference& array, DType wanted) {
    PyArray_Descr* descr = PyArray_DESCR(as_array(array));
    std::string name = is_bfloat16(descr) ? "bfloat16" : name_in_metadata(descr);
    if (dtype_from_name(name.empty() ? name_of_dtype(descr) : name) != wanted) return {};
    PyArray_Descr* native = PyArray_DescrNewByteorder(descr, NPY_NATIVE);
    if (!native) throw PythonError{};
    Reference dense(PyArray_FromArray(as_array(array), native, NPY_ARRAY_CARRAY_RO));
    if (!dense) throw PythonError{};
    return tensor_from_host({wanted, shape_of(dense), {}}, PyArray_DATA(as_array(dense)), default_device());
}

// True if converting such elements to the dtype, which Tensors lack, is lossless.
bool widens(PyArray_Descr* descr, bool is_array, DType wanted) {
    if (is_of_tensors(wanted) || is_narrow(wanted)) return false;
    bool is_integer = PyTypeNum_ISINTEGER(descr->type_num);
    if (wanted == DType::f64) return is_integer || PyTypeNum_ISFLOAT(descr->type_num);
    if (wanted == DType::i64) return is_integer;
    return is_integer && (!is_array || PyTypeNum_ISUNSIGNED(descr->type_num));
}

}  // namespace

Tensor model_input_from_python(PyObject* data, DType wanted) {
    if (is_tensor(data)) return model_input_from_tensor(concrete_value(data), wanted);
    Reference array = to_array(data);
    if (Tensor exact = exact_tensor(array, wanted)) return exact;
    if (widens(PyArray_DESCR(as_array(array)), is_numpy_value(data), wanted))
        return tensor_from_array(array, wanted, default_device());
    return model_input_from_tensor(tensor_from_python(data, DType::none, default_device()), wanted);
}

Tensor model_input_from_tensor(const Tensor& value, DType wanted) {
    bool is_same_kind = is_float(value.dtype())
                            ? is_float(wanted) || (is_narrow(wanted) && !is_narrow_int(wanted))
                            : is_int(value.dtype()) && (is_int(wanted) || is_narrow_int(wanted));
    return !is_of_tensors(wanted) && is_same_kind ? convert_dtype(value, wanted) : value;
}

Tensor operand_from_python(PyObject* data, DType other, DeviceId device) {
    if (data == Py_None) throw UserError("the operand is None and is not supported.", ErrorClass::type);
    if (other == DType::none) {
        // Only the constructor narrows arrays; operators use them unchanged.
        if (is_numpy_value(data)) {
            Reference array = to_array(data);
            if (exact_dtype(PyArray_DESCR(as_array(array))) == DType::none)
                throw UserError(text("unsupported numpy dtype ",
                                     name_of_dtype(PyArray_DESCR(as_array(array))),
                                     ": make a Tensor of the array first, or convert it"));
        }
        return tensor_from_python(data, other, device);
    }
    DType weak = other == DType::bf16 ? DType::f32 : other;
    auto number = read_number(data);
    // NumPy's float64 scalars are Python floats; its functions (sqrt, assert_almost_equal) make them.
    if (!number && PyFloat_Check(data)) number = {Category::floating, PyFloat_AsDouble(data)};
    if (number) {
        if (number->category > category_of(other))
            weak = number->category == Category::floating ? DType::f32 : DType::i32;
        bool may_wrap = is_int(weak) && std::abs(number->value) > double(INT32_MAX);
        if (may_wrap && PyLong_CheckExact(data)) return wrapped_int_tensor(data, weak, device);
        return number_tensor(number->value, weak, device);
    }
    if (PyList_Check(data) || PyTuple_Check(data)) return tensor_from_python(data, weak, device);
    Reference array = to_array(data);
    PyArray_Descr* descr = PyArray_DESCR(as_array(array));
    if (!is_numpy_value(data) && exact_dtype(descr) == DType::none)
        return tensor_from_array(array, narrowed_dtype(descr), device);
    return tensor_from_array(array, operand_dtype(descr, other), device);
}

PyObject* numpy_from_tensor(const Tensor& tensor, PyObject* dtype) {
    std::array<npy_intp, max_rank> dims;
    int rank = tensor.shape().rank() - (dtype && is_complex_dtype(dtype) ? 1 : 0);
    for (int i = 0; i < rank; ++i) dims[size_t(i)] = tensor.shape()[i];
    auto* descr = reinterpret_cast<PyArray_Descr*>(Py_NewRef(dtype ? dtype : numpy_dtype(tensor.dtype())));
    bool is_host = tensor.device().is_host();
    Reference array(PyArray_NewFromDescr(&PyArray_Type, descr, rank, dims.data(), nullptr,
                                         is_host ? tensor.address() : nullptr, 0, nullptr));
    if (!array) throw PythonError{};
    if (is_host) {
        auto owner = std::make_unique<Tensor>(tensor);
        PyObject* capsule = PyCapsule_New(owner.get(), nullptr, [](PyObject* self) {
            std::unique_ptr<Tensor>(static_cast<Tensor*>(PyCapsule_GetPointer(self, nullptr)));
        });
        if (!capsule) throw PythonError{};
        owner.release();
        if (PyArray_SetBaseObject(as_array(array), capsule) != 0) throw PythonError{};
    } else if (tensor.spec().bytes() > 0) {
        queue_of(tensor.device())
            .copy_to_host(PyArray_DATA(as_array(array)), tensor.address(), tensor.spec().bytes());
    }
    PyArray_CLEARFLAGS(as_array(array), NPY_ARRAY_WRITEABLE);
    return array.release();
}

PyObject* scalar_from_tensor(const Tensor& tensor) {
    if (tensor.spec().numel() != 1)
        throw UserError(
            text("[item] only a tensor of one element is a number, this one has shape ", tensor.shape()),
            ErrorClass::assertion);
    std::array<std::byte, sizeof(int64_t)> bytes;
    queue_of(tensor.device()).copy_to_host(bytes.data(), tensor.address(), tensor.spec().bytes());
    PyObject* result = nullptr;
    dispatch_dtype(tensor.dtype(), AllTypes{}, [&]<class T>(std::type_identity<T>) {
        T element;
        std::memcpy(&element, bytes.data(), sizeof element);
        if constexpr (std::is_same_v<T, bool>)
            result = PyBool_FromLong(element);
        else if constexpr (std::is_same_v<T, uint64_t>)
            result = PyLong_FromUnsignedLongLong(element);
        else if constexpr (std::is_integral_v<T>)
            result = PyLong_FromLongLong(element);
        else
            result = PyFloat_FromDouble(ComputedAs<T>(element));
    });
    if (!result) throw PythonError{};
    return result;
}

namespace {

// Converts everything except a list, which it reports.
std::optional<ParamValue> single_param(PyObject* object, bool& is_list) {
    if (object == Py_None) return std::nullopt;
    if (PyBool_Check(object)) return ParamValue(object == Py_True);
    if (PyFloat_Check(object)) return ParamValue(PyFloat_AsDouble(object));
    if (PyUnicode_Check(object)) {
        const char* utf8 = utf8_of(object);
        if (!utf8) throw PythonError{};
        return ParamValue(std::string(utf8));
    }
    if (PyLong_Check(object) || PyArray_IsScalar(object, Integer)) {
        Reference index(PyNumber_Index(object));
        long long value = index ? PyLong_AsLongLong(index.get()) : -1;
        if (PyErr_Occurred()) throw PythonError{};
        return ParamValue(int64_t(value));
    }
    if (PyArray_IsScalar(object, Bool)) return ParamValue(PyObject_IsTrue(object) == 1);
    if (PyArray_IsScalar(object, Number)) {
        double value = PyFloat_AsDouble(object);
        if (PyErr_Occurred()) throw PythonError{};
        return ParamValue(value);
    }
    if (PyArray_DescrCheck(object) && meaning_of(object, nullptr))
        throw UserError(text("[dtype] Tensors of ", name_of_dtype(reinterpret_cast<PyArray_Descr*>(object)),
                             " are made by Tensor() and, of quantised and complex dtypes, by astype"));
    if (PyArray_DescrCheck(object) || PyType_Check(object))
        return ParamValue(std::string(name_of(parse_dtype(object))));
    if (is_tensor(object)) {
        Reference number(scalar_from_tensor(concrete_value(object)));
        return single_param(number.get(), is_list);
    }
    if (SubgraphRef graph = subgraph_of(object)) return ParamValue(std::move(graph));
    if (PyArray_Check(object)) {
        auto* array = reinterpret_cast<PyArrayObject*>(object);
        if (PyArray_NDIM(array) == 0 && PyArray_ISNUMBER(array)) {
            Reference element(PyArray_ToScalar(PyArray_DATA(array), array));
            if (!element) throw PythonError{};
            return single_param(element.get(), is_list);
        }
    }
    is_list = true;
    return std::nullopt;
}

ParamValue list_param(PyObject* object) {
    Reference list(PySequence_Fast(object, "an operator's list parameter must be a sequence"));
    Reference numbers(list ? PySequence_Tuple(list.get()) : nullptr);  // reading them may run Python code
    if (!numbers) throw PythonError{};
    IntList ints;
    FloatList floats;
    const Items items(numbers.get());
    for (size_t i = 0; i < items.size(); ++i) {
        bool is_list = false;
        auto value = single_param(items[i], is_list);
        if (value && std::holds_alternative<int64_t>(*value)) {
            ints.push_back(std::get<int64_t>(*value));
            floats.push_back(double(ints.back()));
        } else if (value && std::holds_alternative<double>(*value)) {
            floats.push_back(std::get<double>(*value));
        } else {
            throw UserError("a list parameter holds integers or floats only", ErrorClass::type);
        }
    }
    if (ints.size() == floats.size()) return ints;
    return floats;
}

}  // namespace

std::optional<ParamValue> param_from_python(PyObject* object) {
    bool is_list = false;
    auto value = single_param(object, is_list);
    return is_list ? list_param(object) : value;
}

}  // namespace mge::python
