// SPDX-License-Identifier: Apache-2.0
#pragma once
// Direct access to two slots of Python types. The stable ABI reads slots with function calls, and cannot
// replace them.

#include <Python.h>

#include <cstddef>

namespace mge::python {

#ifdef Py_LIMITED_API

// Distances of the slots from the start of a type, in bytes; 0 if unknown.
extern size_t dealloc_offset, finalize_offset;

// Finds the slots in a type made for this purpose. Call it before the other functions.
void find_type_slots();

inline destructor* slot_at(PyTypeObject* type, size_t offset) {
    return reinterpret_cast<destructor*>(reinterpret_cast<std::byte*>(type) + offset);
}

// Returns the place of the function that destroys objects of the type; nullptr if unknown.
inline destructor* dealloc_slot(PyTypeObject* type) {
    return dealloc_offset ? slot_at(type, dealloc_offset) : nullptr;
}

// True if the type has a finalizer: __del__ in Python.
inline bool has_finalizer(PyTypeObject* type) {
    return finalize_offset ? *slot_at(type, finalize_offset) != nullptr
                           : PyType_GetSlot(type, Py_tp_finalize) != nullptr;
}

#else

inline void find_type_slots() {}
inline destructor* dealloc_slot(PyTypeObject* type) { return &type->tp_dealloc; }
inline bool has_finalizer(PyTypeObject* type) { return type->tp_finalize != nullptr; }

#endif

}  // namespace mge::python
