// SPDX-License-Identifier: Apache-2.0
#pragma once
// The Python type `_mge.Tensor`, made without nanobind, because every nanosecond of an eager operator counts.
// megengine.Tensor is a Python subclass. Results of operators have the class given to set_tensor_class.

#include <Python.h>

#include <span>

#include "libmge/tensor/tensor.h"

namespace mge::python {

struct PyTensor {
    PyObject_HEAD;
    Tensor value;          // never null
    PyObject* name;        // str or null
    PyObject* grad;        // any object or null
    PyObject* meaning;     // NumPy dtype that the elements encode (meaning.h), or null
    uint8_t format;        // index into format_names: a tag only
    bool keeps_memory;     // memory is shared: new values are written into it
    bool awaits_data;      // constructed without arguments: __init__ sets the value
    uint32_t recording;    // number of the graph recording that made it (subgraph_binding.h), or 0
    PyObject* attributes;  // a dict for Python subclasses, or null
    PyObject* weak;        // list of weak references, or null
};

extern PyTypeObject* tensor_type;
extern PyTypeObject* result_class;  // class of operator results

// True if x.shape is a Tensor on this thread, which a trace follows, instead of a tuple.
extern thread_local bool has_symbolic_shapes;
extern bool shows_nhwc;  // shapes and arrays of tensors of format nhwc have the order of their name

extern const char* const format_names[];
constexpr uint8_t nhwc_format = 2;
uint8_t parse_format(PyObject* name);

inline bool is_tensor(PyObject* object) {
    return Py_TYPE(object) == result_class || PyType_IsSubtype(Py_TYPE(object), tensor_type);
}
inline PyTensor* as_tensor(PyObject* object) { return reinterpret_cast<PyTensor*>(object); }
inline Tensor& value_of(PyObject* object) { return as_tensor(object)->value; }

// Sets the value of the object. Writes it into the object's memory if that is shared and the value fits.
// Recordings of functions note the change.
void give_value(PyObject* object, Tensor value);

// Returns the value with memory: a pending value of a trace is computed.
const Tensor& concrete_value(PyObject* object);
const Tensor& concrete_value(const Tensor& tensor);

// Returns the only element as a Python number.
PyObject* number_from_tensor(PyObject* object);

// Returns a new object of the result class. Throws PythonError.
PyObject* wrap_tensor(Tensor value);
// Returns a tuple of new objects.
PyObject* wrap_tensors(Tensors values);

void set_result_class(PyTypeObject* type);

// Initialises the types and adds them to the module.
void add_tensor_type(PyObject* module);

// A slot of a Python type for PyType_FromSpec().
template <class Function>
PyType_Slot type_slot(int slot, Function* function) {
    return {slot, reinterpret_cast<void*>(function)};
}

// Defined in number_slots.cpp.
std::span<const PyType_Slot> tensor_number_slots();
PyObject* compare_tensors(PyObject* a, PyObject* b, int operation);
PyObject* round_tensor(PyObject* self, PyObject* const* args, Py_ssize_t count);
PyObject* floor_tensor(PyObject* self, PyObject*);
PyObject* ceil_tensor(PyObject* self, PyObject*);
PyObject* complex_from_tensor(PyObject* self, PyObject*);
// Looks up the operators of the slots.
void prepare_number_slots();

// Defined in index_slots.cpp.
std::span<const PyType_Slot> tensor_index_slots();

// Defined in tensor_methods.cpp.
extern PyMethodDef tensor_methods[];
extern PyGetSetDef tensor_properties[];

}  // namespace mge::python
