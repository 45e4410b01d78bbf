// SPDX-License-Identifier: Apache-2.0
#pragma once
// Between Python values and tensors: numbers, lists, NumPy arrays, dtypes, devices.

#include <Python.h>

#include <optional>
#include <string>

#include "libmge/tensor/tensor.h"
#include "python/src/reference.h"

namespace mge::python {

// Loads NumPy's C interface; throws PythonError.
void import_numpy();

// The dtype named by a string, a NumPy dtype, or a type such as numpy.float32 or bool. RuntimeError for
// dtypes that tensors cannot have, TypeError for what is no dtype.
DType parse_dtype(PyObject* object);
bool is_array(PyObject* object);
bool is_numpy_dtype(PyObject* object);
// An array or a scalar of NumPy.
bool is_numpy_value(PyObject* data);
// NumPy's dtype of complex numbers, and whether a name, a dtype or a type is one of them.
Reference complex_dtype();
bool is_complex_dtype(PyObject* object);
// A borrowed numpy.dtype. For bfloat16 the uint16 dtype that carries the name as metadata; for narrow ones
// that of the package ml_dtypes, without it a uint8 dtype with the name.
PyObject* numpy_dtype(DType dtype);

// "xpux", "cpu0:1", a Device object, or None for the default device.
DeviceId parse_device_argument(PyObject* object);

// The rule of the Tensor constructor: float64 becomes f32, int64 becomes i32; `dtype` none keeps what is
// left. RuntimeError for data that no dtype holds.
Tensor tensor_from_python(PyObject* data, DType dtype, DeviceId device);

// An input of a model that wants elements of dtype `wanted`: arrays of it are taken as they are, also where
// Tensors have no such dtype; all else is made a Tensor, and widened to such a dtype.
Tensor model_input_from_python(PyObject* data, DType wanted);
// The same for a Tensor's value, which may be one of a graph.
Tensor model_input_from_tensor(const Tensor& value, DType wanted);

// The rule for operands of elementwise operators beside tensors of type `other` (the common dtype of all
// tensors among the operands): numbers and lists are weak, arrays count like tensors within their category.
Tensor operand_from_python(PyObject* data, DType other, DeviceId device);

// A read-only array on the tensor's memory, of its dtype or of another one of that size; of a complex one,
// an element is a pair along the last axis.
PyObject* numpy_from_tensor(const Tensor& tensor, PyObject* dtype = nullptr);
// A Python bool, int or float from a tensor of one element.
PyObject* scalar_from_tensor(const Tensor& tensor);

// None, a bool, a number, a string, a list of numbers: as an operator's parameter. nullopt for None.
std::optional<ParamValue> param_from_python(PyObject* object);

}  // namespace mge::python
