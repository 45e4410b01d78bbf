// SPDX-License-Identifier: Apache-2.0
// x[key]. Most keys consist of integers and slices of integers: one operator, without any Python code.
// megengine.core.tensor.indexing handles the others.

#include <array>

#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "python/src/call_op.h"
#include "python/src/errors.h"
#include "python/src/meaning.h"
#include "python/src/object_access.h"
#include "python/src/reference.h"
#include "python/src/tensor/plain_integers.h"
#include "python/src/tensor/tensor_object.h"

namespace mge::python {
namespace {

bool read_bound(PyObject* bound, int64_t& value) { return bound == Py_None || read_integer(bound, value); }

#ifdef Py_LIMITED_API
// True if the bounds follow the head of a slice, as in every CPython so far. The stable ABI has them only as
// attributes; reading these takes as long as a small operator.
bool bounds_follow_head() {
    Reference slice(PySlice_New(Py_True, Py_False, Py_Ellipsis));
    if (!slice) throw PythonError{};
    auto* bounds = reinterpret_cast<PyObject**>(slice.get() + 1);
    return bounds[0] == Py_True && bounds[1] == Py_False && bounds[2] == Py_Ellipsis;
}
#endif

// Returns false unless the slice consists of integers.
bool read_slice(PyObject* slice, int64_t& begin, int64_t& end, int64_t& step) {
#ifdef Py_LIMITED_API
    static const bool are_found = bounds_follow_head();
#else
    constexpr bool are_found = true;
#endif
    auto* bounds = reinterpret_cast<PyObject**>(slice + 1);
    return are_found && read_bound(bounds[0], begin) && read_bound(bounds[1], end) &&
           read_bound(bounds[2], step) && step != 0;
}

// Returns false if the entry is neither an integer nor a slice of integers.
bool add_items(int64_t axis, PyObject* entry, IntList& items) {
    int64_t begin = ops::absent_bound, end = ops::absent_bound, step = 1;
    const bool is_index = read_integer(entry, begin);
    if (!is_index) {
        if (!PySlice_Check(entry)) return false;
        if (!read_slice(entry, begin, end, step)) return false;
        if (begin == ops::absent_bound && end == ops::absent_bound && step == 1) return true;
    }
    items.insert(items.end(), {axis, begin, end, step, is_index});
    return true;
}

// Returns the items of ops::Slice for a key; empty if the key needs more than that operator.
IntList items_of(PyObject* self, PyObject* key) {
    const bool is_tuple = PyTuple_CheckExact(key);
    const Py_ssize_t count = is_tuple ? PyTuple_Size(key) : 1;
    if (meaning(self) || count > value_of(self).shape().rank()) return {};
    IntList items;
    for (Py_ssize_t i = 0; i < count; ++i)
        if (!add_items(i, is_tuple ? PyTuple_GetItem(key, i) : key, items)) return {};
    return items;
}

PyObject* get_by_other_key(PyObject* self, PyObject* key) {
    Reference indexing(PyImport_ImportModule("megengine.core.tensor.indexing"));
    return indexing ? PyObject_CallMethod(indexing.get(), "getitem", "OO", self, key) : nullptr;
}

PyObject* item_by_key(PyObject* self, PyObject* key) {
    return guarded([&] {
        ops::Slice::Params params{items_of(self, key)};
        if (params.items.empty()) return get_by_other_key(self, key);
        return call_with(ops::Slice::info, &params, self);
    });
}

// Implements the sequence protocol, which reversed() uses.
PyObject* item_at(PyObject* self, Py_ssize_t at) {
    Reference key(PyLong_FromSsize_t(at));
    return key ? item_by_key(self, key.get()) : nullptr;
}

}  // namespace

std::span<const PyType_Slot> tensor_index_slots() {
    static const std::array slots{type_slot(Py_mp_subscript, item_by_key), type_slot(Py_sq_item, item_at)};
    return slots;
}

}  // namespace mge::python
