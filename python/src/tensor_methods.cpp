// SPDX-License-Identifier: Apache-2.0
// Properties and methods of _mge.Tensor.

#include "libmge/device/default_device.h"
#include "libmge/op/apply.h"
#include "python/src/conversion.h"
#include "python/src/device_object.h"
#include "python/src/errors.h"
#include "python/src/quantised.h"
#include "python/src/reference.h"
#include "python/src/subgraph_binding.h"
#include "python/src/tensor_object.h"

namespace mge::python {
namespace {

// The shape has to be known: a value whose shape only a run tells is computed now.
const Shape& known_shape(PyObject* self) {
    const Tensor& value = value_of(self);
    return value.shape().is_known() ? value.shape() : concrete_value(self).shape();
}

PyObject* get_shape(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        const Shape& shape = known_shape(self);
        Reference tuple(PyTuple_New(shape.rank()));
        if (!tuple) throw PythonError{};
        for (int i = 0; i < shape.rank(); ++i) {
            PyObject* extent = PyLong_FromLongLong(shape[i]);
            if (!extent) throw PythonError{};
            PyTuple_SET_ITEM(tuple.get(), i, extent);
        }
        return tuple.release();
    });
}

PyObject* get_ndim(PyObject* self, void*) {
    return guarded([&] { return PyLong_FromLong(known_shape(self).rank()); });
}
PyObject* get_size(PyObject* self, void*) {
    return guarded([&] { return PyLong_FromLongLong(known_shape(self).numel()); });
}
PyObject* get_dtype(PyObject* self, void*) {
    PyObject* quantised = as_tensor(self)->quantised;
    return Py_NewRef(quantised ? quantised : numpy_dtype(value_of(self).dtype()));
}
PyObject* get_quantised(PyObject* self, void*) {
    PyObject* quantised = as_tensor(self)->quantised;
    return Py_NewRef(quantised ? quantised : Py_None);
}
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
        PyErr_SetString(PyExc_TypeError, "[Tensor] name has to be a string");
        return -1;
    }
    Py_XSETREF(as_tensor(self)->name, name == Py_None ? nullptr : Py_XNewRef(name));
    return 0;
}

PyObject* get_grad(PyObject* self, void*) {
    PyObject* grad = as_tensor(self)->grad;
    return Py_NewRef(grad ? grad : Py_None);
}
int set_grad(PyObject* self, PyObject* grad, void*) {
    if (running_captures) [[unlikely]]
        note_grad(self);
    Py_XSETREF(as_tensor(self)->grad, grad == Py_None ? nullptr : Py_XNewRef(grad));
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
    return guarded([&] { return numpy_from_tensor(concrete_value(self), as_tensor(self)->quantised); });
}

PyObject* item(PyObject* self, PyObject* args) {
    return guarded([&]() -> PyObject* {
        const Tensor& value = concrete_value(self);
        if (PyTuple_GET_SIZE(args) == 0) return scalar_from_tensor(value);
        Reference array(numpy_from_tensor(value));
        Reference method(PyObject_GetAttrString(array.get(), "item"));
        return method ? PyObject_Call(method.get(), args, nullptr) : nullptr;
    });
}

PyObject* to_list(PyObject* self, PyObject*) {
    return guarded([&]() -> PyObject* {
        Reference array(numpy_from_tensor(concrete_value(self)));
        return PyObject_CallMethod(array.get(), "tolist", nullptr);
    });
}

PyObject* reset(PyObject* self, PyObject* other) {
    return guarded([&] {
        const Tensor& value = value_of(self);
        if (is_tensor(other))
            take_over(self, other);
        else
            give_value(self, tensor_from_python(other, value.dtype(), value.device()));
        return Py_NewRef(Py_None);
    });
}

// The same memory, unknown to all tapes.
PyObject* detach(PyObject* self, PyObject*) {
    return guarded([&] { return wrap_like(current_interpreter().alias(value_of(self)), self); });
}

PyObject* steps(PyObject* self, PyObject*) {
    return guarded([&] { return wrap_tensor(value_of(self)); });
}

PyObject* as_steps_of(PyObject* self, PyObject* dtype) {
    return guarded([&] {
        Reference quantised = quantised_dtype(dtype, self);
        if (!quantised || parse_dtype(dtype) != value_of(self).dtype())
            throw UserError(text("[Tensor] a tensor of ", value_of(self).dtype(), " holds no steps of it"),
                            ErrorClass::type);
        PyObject* made = wrap_tensor(value_of(self));
        give_dtype(made, quantised.get());
        return made;
    });
}

PyObject* pickled_arguments(PyObject* self, PyObject*) {
    return guarded([&]() -> PyObject* {
        PyObject* quantised = as_tensor(self)->quantised;
        Reference array(numpy_from_tensor(concrete_value(self), quantised));
        return Py_BuildValue("(OOs)", array.get(),
                             quantised ? quantised : numpy_dtype(value_of(self).dtype()),
                             logical_name(value_of(self).device()).c_str());
    });
}

}  // namespace

PyMethodDef tensor_methods[] = {
    {"numpy", to_numpy, METH_NOARGS, "numpy()\n--\n\nA read-only NumPy array on the same memory."},
    {"item", item, METH_VARARGS, "item(*args)\n--\n\nThe only element as a Python number."},
    {"tolist", to_list, METH_NOARGS, "tolist()\n--\n\nNested lists of Python numbers."},
    {"_reset", reset, METH_O, "_reset(other)\n--\n\nGives this object the value of another one."},
    {"detach", detach, METH_NOARGS, "detach()\n--\n\nThe same value, cut from the tapes."},
    {"_steps", steps, METH_NOARGS, "_steps()\n--\n\nThe integers of a quantised Tensor as a plain one."},
    {"_as_steps_of", as_steps_of, METH_O,
     "_as_steps_of(dtype)\n--\n\nThis plain Tensor as the steps of a quantised dtype."},
    {"__round__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&round_tensor)), METH_FASTCALL,
     nullptr},
    {"__floor__", floor_tensor, METH_NOARGS, nullptr},
    {"__ceil__", ceil_tensor, METH_NOARGS, nullptr},
    {"__complex__", complex_from_tensor, METH_NOARGS, nullptr},
    {"__getnewargs__", pickled_arguments, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef tensor_properties[] = {
    {"shape", get_shape, nullptr, "Extents as a tuple.", nullptr},
    {"_tuple_shape", get_shape, nullptr, "Extents as a tuple.", nullptr},
    {"ndim", get_ndim, nullptr, "Number of axes.", nullptr},
    {"size", get_size, nullptr, "Number of elements.", nullptr},
    {"dtype", get_dtype, nullptr, "The NumPy dtype.", nullptr},
    {"_quantised", get_quantised, nullptr, "The dtype when it is a quantised one, else None.", nullptr},
    {"device", get_device, nullptr, "Where the value lies.", nullptr},
    {"_is_symbolic", get_is_symbolic, nullptr, "A value of a graph, without memory.", nullptr},
    {"name", get_name, set_name, "Name shown in dumped graphs.", nullptr},
    {"grad", get_grad, set_grad, "What backward left here, or None.", nullptr},
    {"format", get_format, set_format, "'default', 'nchw' or 'nhwc': a tag.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

}  // namespace mge::python
