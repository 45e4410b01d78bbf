// SPDX-License-Identifier: Apache-2.0
#pragma once
// The Python type `_mge.Tensor`: a plain CPython type, because every nanosecond of an eager operator counts.
// megengine.Tensor is a Python subclass; results of operators are made as the class given to
// set_tensor_class.

#include <Python.h>

#include "libmge/tensor/tensor.h"

namespace mge::python {

struct PyTensor {
    PyObject_HEAD;
    Tensor value;          // never null
    PyObject* name;        // str or null
    PyObject* grad;        // any object or null
    PyObject* meaning;     // the NumPy dtype of what the elements stand for (meaning.h), or null
    uint8_t format;        // index into format_names: a tag only
    bool keeps_memory;     // others have the memory too: what the object is given is written there
    bool awaits_data;      // made without arguments: __init__ gives it a value
    uint32_t born;         // in which recording of a graph (subgraph_binding.h); 0: in none
    PyObject* attributes;  // of a class of Python's, a dict or null
    PyObject* weak;        // who refers to the object weakly; null: nobody
};

extern PyTypeObject tensor_type;
extern PyTypeObject* result_class;  // what operators make

// On this thread x.shape is a Tensor, which a trace follows, and no tuple.
extern thread_local bool has_symbolic_shapes;

extern const char* const format_names[];
uint8_t parse_format(PyObject* name);

inline bool is_tensor(PyObject* object) {
    return Py_TYPE(object) == result_class || PyType_IsSubtype(Py_TYPE(object), &tensor_type);
}
inline PyTensor* as_tensor(PyObject* object) { return reinterpret_cast<PyTensor*>(object); }
inline Tensor& value_of(PyObject* object) { return as_tensor(object)->value; }

// The object has this value from now on, in its own memory where it keeps that and the value fits; a
// recording of a function takes note of it.
void give_value(PyObject* object, Tensor value);

// The value with memory: one that a trace holds back is computed now.
const Tensor& concrete_value(PyObject* object);
const Tensor& concrete_value(const Tensor& tensor);

// The only element as a Python number.
PyObject* number_from_tensor(PyObject* object);

// A new object of the result class; throws PythonError.
PyObject* wrap_tensor(Tensor value);
// A tuple of them.
PyObject* wrap_tensors(Tensors values);

void set_result_class(PyTypeObject* type);

// Readies the types and adds them to the module.
void add_tensor_type(PyObject* module);

// Filled in by number_slots.cpp.
extern PyNumberMethods tensor_number_methods;
PyObject* compare_tensors(PyObject* a, PyObject* b, int operation);
PyObject* round_tensor(PyObject* self, PyObject* const* args, Py_ssize_t count);
PyObject* floor_tensor(PyObject* self, PyObject*);
PyObject* ceil_tensor(PyObject* self, PyObject*);
PyObject* complex_from_tensor(PyObject* self, PyObject*);
// Looks up the operators behind the slots.
void prepare_number_slots();

// index_slots.cpp
extern PyMappingMethods tensor_mapping_methods;
extern PySequenceMethods tensor_sequence_methods;

// tensor_methods.cpp
extern PyMethodDef tensor_methods[];
extern PyGetSetDef tensor_properties[];

}  // namespace mge::python
