// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts between Python values and tensors: numbers, lists, NumPy arrays, dtypes, devices.

#include <Python.h>

#include <optional>
#include <string>

#include "libmge/tensor/tensor.h"
#include "python/src/reference.h"

namespace mge::python {

// Loads NumPy's C API. Throws PythonError.
void import_numpy();

// Parses a dtype given as a string, a NumPy dtype, or a type such as numpy.float32 or bool. Throws
// RuntimeError for dtypes that tensors do not support, TypeError for other objects.
DType parse_dtype(PyObject* object);
bool is_array(PyObject* object);
bool is_numpy_dtype(PyObject* object);
// True for an array or a scalar of NumPy.
bool is_numpy_value(PyObject* data);
// NumPy's complex dtype, and whether a name, a dtype or a type is complex.
Reference complex_dtype();
bool is_complex_dtype(PyObject* object);
// Returns a borrowed numpy.dtype. Narrow dtypes are those of the package ml_dtypes or, without it, uint8 with
// the name as metadata.
PyObject* numpy_dtype(DType dtype);

// Parses "xpux", "cpu0:1", a Device object, or None for the default device.
DeviceId parse_device_argument(PyObject* object);

// Converts like the Tensor constructor: float64 becomes f32 and int64 becomes i32 unless `dtype` is given.
// Throws RuntimeError for data that no dtype can hold.
Tensor tensor_from_python(PyObject* data, DType dtype, DeviceId device);

// Converts an input of a model that expects dtype `wanted`. Arrays of that dtype are used unchanged, even if
// Tensors do not support it. Other data becomes a Tensor and is widened if necessary.
Tensor model_input_from_python(PyObject* data, DType wanted);
// The same for a Tensor's value, which may be symbolic.
Tensor model_input_from_tensor(const Tensor& value, DType wanted);

// Converts operands of elementwise operators. `other` is the common dtype of the tensor operands. Numbers and
// lists are weak; arrays count as tensors within their category.
Tensor operand_from_python(PyObject* data, DType other, DeviceId device);

// Returns a read-only array on the tensor's memory with its dtype or another one of that size. Elements of a
// complex array are pairs along the last axis.
PyObject* numpy_from_tensor(const Tensor& tensor, PyObject* dtype = nullptr);
// Returns a Python bool, int or float for a tensor of one element.
PyObject* scalar_from_tensor(const Tensor& tensor);

// Converts a bool, number, string or list of numbers to an operator parameter; None to nullopt.
std::optional<ParamValue> param_from_python(PyObject* object);

}  // namespace mge::python
