// SPDX-License-Identifier: Apache-2.0
// Properties and methods of _mge.Tensor.

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "libmge/device/default_device.h"
#include "libmge/op/apply.h"
#include "libmge/ops/shape/wait_for.h"
#include "python/src/device_object.h"
#include "python/src/errors.h"
#include "python/src/meaning.h"
#include "python/src/object_access.h"
#include "python/src/reference.h"
#include "python/src/subgraph_binding.h"
#include "python/src/tensor/conversion.h"
#include "python/src/tensor/tensor_object.h"

namespace mge::python {

constinit thread_local bool has_symbolic_shapes = false;
bool shows_nhwc = false;

namespace {

// Returns the shape without the axis of complex parts. A value whose shape is known only at run time is
// computed.
std::span<const int64_t> known_shape(PyObject* self) {
    const Tensor& value = value_of(self);
    auto extents = (value.shape().is_known() ? value : concrete_value(self)).shape().dims();
    return is_complex(self) ? extents.first(extents.size() - 1) : extents;
}

Reference new_tuple(std::span<const int64_t> numbers) {
    Reference tuple(PyTuple_New(Py_ssize_t(numbers.size())));
    if (!tuple) throw PythonError{};
    for (size_t i = 0; i < numbers.size(); ++i) {
        PyObject* number = PyLong_FromLongLong(numbers[i]);
        if (!number) throw PythonError{};
        set_tuple_item(tuple.get(), i, number);
    }
    return tuple;
}

// Tuples of shapes for reuse: programs read few shapes, each many times. Guarded by the GIL.
struct ShapeTuple {
    std::array<int64_t, max_rank> extents;
    size_t rank;
    PyObject* tuple;  // null at first

    bool is_of(std::span<const int64_t> shape) const {
        return tuple && std::ranges::equal(std::span(extents).first(rank), shape);
    }
};
constexpr int index_bits = 6;
std::array<ShapeTuple, 1 << index_bits> shape_tuples{};

ShapeTuple& place_of(std::span<const int64_t> shape) {
    uint64_t hash = shape.size();
    for (int64_t extent : shape) hash = std::rotl(hash, 7) ^ uint64_t(extent);
    constexpr uint64_t multiplier = 0x9e3779b97f4a7c15;  // spreads the bits
    return shape_tuples[(hash * multiplier) >> (64 - index_bits)];
}

PyObject* get_tuple_shape(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        auto shape = known_shape(self);
        ShapeTuple& kept = place_of(shape);
        if (!kept.is_of(shape)) {
            ShapeTuple made{.rank = shape.size()};
            // A copy: making a tuple may run finalizers, and these may change the tensor.
            std::ranges::copy(shape, made.extents.begin());
            made.tuple = new_tuple(std::span(made.extents).first(made.rank)).release();
            std::swap(kept, made);
            Py_XDECREF(made.tuple);
        }
        return Py_NewRef(kept.tuple);
    });
}

bool is_shown_nhwc(PyObject* self) { return shows_nhwc && as_tensor(self)->format == nhwc_format; }

// Moves the axis of the channels to the end: 0, 1, 2, 3 => 0, 2, 3, 1.
std::span<int64_t> to_nhwc(std::span<int64_t> nchw) {
    if (nchw.size() >= 3) std::rotate(nchw.end() - 3, nchw.end() - 2, nchw.end());
    return nchw;
}

PyObject* get_nhwc_shape(PyObject* self) {
    return guarded([&] {
        auto shape = known_shape(self);
        std::array<int64_t, max_rank> extents;
        std::ranges::copy(shape, extents.begin());
        return new_tuple(to_nhwc(std::span(extents).first(shape.size()))).release();
    });
}

PyObject* get_shape(PyObject* self, void*) {
    if (is_shown_nhwc(self)) [[unlikely]]
        return get_nhwc_shape(self);
    if (!has_symbolic_shapes) [[likely]]
        return get_tuple_shape(self, nullptr);
    Reference ops(PyImport_ImportModule("megengine._mge.ops"));
    return ops ? PyObject_CallMethod(ops.get(), "shape_of", "O", self) : nullptr;
}

PyObject* get_ndim(PyObject* self, void*) {
    return guarded([&] { return PyLong_FromSize_t(known_shape(self).size()); });
}
PyObject* get_size(PyObject* self, void*) {
    return guarded([&] { return PyLong_FromLongLong(Shape(known_shape(self)).numel()); });
}
PyObject* get_dtype(PyObject* self, void*) {
    return Py_NewRef(meaning(self) ? meaning(self) : numpy_dtype(value_of(self).dtype()));
}
PyObject* get_meaning(PyObject* self, void*) { return Py_NewRef(meaning(self) ? meaning(self) : Py_None); }
PyObject* get_quantised(PyObject* self, void*) {
    return is_complex(self) || is_low_bit(self) ? Py_NewRef(Py_None) : get_meaning(self, nullptr);
}
PyObject* get_is_complex(PyObject* self, void*) { return PyBool_FromLong(is_complex(self)); }
PyObject* get_device(PyObject* self, void*) {
    return guarded([&] { return device_object(value_of(self).device()); });
}

PyObject* get_is_symbolic(PyObject* self, void*) { return PyBool_FromLong(value_of(self).is_symbolic()); }

PyObject* get_name(PyObject* self, void*) {
    PyObject* name = as_tensor(self)->name;
    return name ? Py_NewRef(name) : PyUnicode_FromStringAndSize("", 0);
}
int set_name(PyObject* self, PyObject* name, void*) {
    if (name && name != Py_None && !PyUnicode_Check(name)) {
        PyErr_SetString(PyExc_TypeError, "[Tensor] name must be a string");
        return -1;
    }
    set_reference(as_tensor(self)->name, name == Py_None ? nullptr : Py_XNewRef(name));
    return 0;
}

PyObject* get_grad(PyObject* self, void*) {
    PyObject* grad = as_tensor(self)->grad;
    return Py_NewRef(grad ? grad : Py_None);
}
int set_grad(PyObject* self, PyObject* grad, void*) {
    if (running_captures) [[unlikely]]
        note_grad(self);
    set_reference(as_tensor(self)->grad, grad == Py_None ? nullptr : Py_XNewRef(grad));
    return 0;
}

PyObject* get_format(PyObject* self, void*) {
    return PyUnicode_FromString(format_names[as_tensor(self)->format]);
}
int set_format(PyObject* self, PyObject* name, void*) {
    return guarded(
        [&] {
            if (!name) throw UserError("[Tensor] a format cannot be deleted", ErrorClass::type);
            as_tensor(self)->format = parse_format(name);
            return 0;
        },
        -1);
}

PyObject* to_numpy(PyObject* self, PyObject*) {
    return guarded([&]() -> PyObject* {
        Reference array(numpy_from_tensor(concrete_value(self), meaning(self)));
        if (!is_shown_nhwc(self)) [[likely]]
            return array.release();
        std::array<int64_t, max_rank> axes;
        std::iota(axes.begin(), axes.end(), 0);
        Reference order = new_tuple(to_nhwc(std::span(axes).first(known_shape(self).size())));
        return PyObject_CallMethod(array.get(), "transpose", "O", order.get());
    });
}

PyObject* item(PyObject* self, PyObject* args) {
    return guarded([&]() -> PyObject* {
        if (PyTuple_Size(args) == 0) return number_from_tensor(self);
        Reference array(numpy_from_tensor(concrete_value(self), meaning(self)));
        Reference method(PyObject_GetAttrString(array.get(), "item"));
        return method ? PyObject_Call(method.get(), args, nullptr) : nullptr;
    });
}

PyObject* to_list(PyObject* self, PyObject*) {
    return guarded([&]() -> PyObject* {
        Reference array(numpy_from_tensor(concrete_value(self), meaning(self)));
        return PyObject_CallMethod(array.get(), "tolist", nullptr);
    });
}

PyObject* reset(PyObject* self, PyObject* other) {
    return guarded([&] {
        const Tensor& value = value_of(self);
        if (is_tensor(other)) {
            take_over(self, other);
            // Many operators lose the tag, so only one that says something is taken over.
            if (auto format = as_tensor(other)->format) as_tensor(self)->format = format;
        } else
            give_value(self, tensor_from_python(other, value.dtype(), value.device()));
        return Py_NewRef(Py_None);
    });
}

// Shares the memory, but no tape follows the result.
PyObject* detach(PyObject* self, PyObject*) {
    return guarded([&] {
        if (!running_captures || !innermost_capture()) [[likely]]
            return wrap_like(current_interpreter().alias(value_of(self)), self);
        // A recorded function may get its gradient later, from its graph.
        note_use(self);
        return wrap_like(ops::wait_for({value_of(self)}, {.stops_gradient = true}), self);
    });
}

PyObject* plain(PyObject* self, PyObject*) {
    return guarded([&] {
        if (running_captures) [[unlikely]]
            note_use(self);
        return wrap_tensor(value_of(self));
    });
}

PyObject* meant_as(PyObject* self, PyObject* dtype) {
    return guarded([&] {
        Reference meant = meaning_of(dtype, self);
        if (!meant || !is_made_of(meant.get(), value_of(self).dtype()))
            throw UserError(text("[Tensor] a tensor of ", value_of(self).dtype(), " holds nothing of it"),
                            ErrorClass::type);
        if (running_captures) [[unlikely]]
            note_use(self);
        PyObject* made = wrap_tensor(value_of(self));
        give_meaning(made, meant.get());
        return made;
    });
}

PyObject* pickled_arguments(PyObject* self, PyObject*) {
    return guarded([&]() -> PyObject* {
        Reference array(numpy_from_tensor(concrete_value(self), meaning(self)));
        Reference dtype(get_dtype(self, nullptr));
        return Py_BuildValue("(OOs)", array.get(), dtype.get(),
                             logical_name(value_of(self).device()).c_str());
    });
}

}  // namespace

PyMethodDef tensor_methods[] = {
    {"numpy", to_numpy, METH_NOARGS, "numpy()\n--\n\nReturns a read-only NumPy array on the same memory."},
    {"item", item, METH_VARARGS, "item(*args)\n--\n\nReturns the only element as a Python number."},
    {"tolist", to_list, METH_NOARGS, "tolist()\n--\n\nReturns nested lists of Python numbers."},
    {"_reset", reset, METH_O,
     "_reset(other)\n--\n\nReplaces the value of this object by that of another "
     "one."},
    {"detach", detach, METH_NOARGS,
     "detach()\n--\n\nReturns a Tensor with the same value that no tape "
     "follows."},
    {"_plain", plain, METH_NOARGS,
     "_plain()\n--\n\nReturns a plain Tensor: the integers of a quantised or low-bit one, the pairs of a "
     "complex one."},
    {"_meant_as", meant_as, METH_O,
     "_meant_as(dtype)\n--\n\nReturns this plain Tensor as one of a quantised, complex or low-bit dtype."},
    {"__round__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&round_tensor)), METH_FASTCALL,
     nullptr},
    {"__floor__", floor_tensor, METH_NOARGS, nullptr},
    {"__ceil__", ceil_tensor, METH_NOARGS, nullptr},
    {"__complex__", complex_from_tensor, METH_NOARGS, nullptr},
    {"__getnewargs__", pickled_arguments, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef tensor_properties[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"shape", get_shape, nullptr,
     "The size of each axis: a tuple, or an int32 Tensor in a trace with symbolic shapes.", nullptr},
    {"_tuple_shape", get_tuple_shape, nullptr, "Extents as a tuple.", nullptr},
    {"ndim", get_ndim, nullptr, "Number of axes.", nullptr},
    {"size", get_size, nullptr, "Number of elements.", nullptr},
    {"dtype", get_dtype, nullptr, "The NumPy dtype.", nullptr},
    {"_meaning", get_meaning, nullptr, "The dtype if it is a quantised, complex or low-bit one, else None.",
     nullptr},
    {"_quantised", get_quantised, nullptr, "The dtype if it is a quantised one, else None.", nullptr},
    {"_is_complex", get_is_complex, nullptr, "True if the elements are complex numbers.", nullptr},
    {"device", get_device, nullptr, "The device of the value.", nullptr},
    {"_is_symbolic", get_is_symbolic, nullptr, "True for a value of a graph, which has no memory.", nullptr},
    {"name", get_name, set_name, "Name shown in dumped graphs.", nullptr},
    {"grad", get_grad, set_grad, "The gradient that the last backward pass stored, or None.", nullptr},
    {"format", get_format, set_format,
     "The image format, 'default', 'nchw' or 'nhwc'. It is a tag and "
     "does not change the memory.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace mge::python
