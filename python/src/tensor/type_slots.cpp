// SPDX-License-Identifier: Apache-2.0
#include "python/src/tensor/type_slots.h"

#ifdef Py_LIMITED_API

#include <algorithm>
#include <array>
#include <span>

#include "python/src/errors.h"
#include "python/src/reference.h"

namespace mge::python {

size_t dealloc_offset = 0, finalize_offset = 0;

namespace {

void finalize_nothing(PyObject*) {}

// The words of a type object, up to the size that every type has.
std::span<void*> words_of(PyTypeObject* type) {
    Reference size(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyType_Type), "__basicsize__"));
    if (!size) throw PythonError{};
    return {reinterpret_cast<void**>(type), PyLong_AsSize_t(size.get()) / sizeof(void*)};
}

// Returns the distance of the only word with the slot's value; 0 if there is not exactly one.
size_t offset_of_slot(PyTypeObject* type, int slot) {
    std::span<void*> words = words_of(type);
    void* value = PyType_GetSlot(type, slot);
    if (!value || std::ranges::count(words, value) != 1) return 0;
    return size_t(std::ranges::find(words, value) - words.begin()) * sizeof(void*);
}

}  // namespace

void find_type_slots() {
    std::array slots{PyType_Slot{Py_tp_finalize, reinterpret_cast<void*>(&finalize_nothing)},
                     PyType_Slot{0, nullptr}};
    PyType_Spec spec{"megengine._mge.TypeWithFinalizer", 0, 0, Py_TPFLAGS_DEFAULT, slots.data()};
    Reference made(PyType_FromSpec(&spec));
    if (!made) throw PythonError{};
    auto* type = reinterpret_cast<PyTypeObject*>(made.get());
    dealloc_offset = offset_of_slot(type, Py_tp_dealloc);
    finalize_offset = offset_of_slot(type, Py_tp_finalize);
}

}  // namespace mge::python

#endif
