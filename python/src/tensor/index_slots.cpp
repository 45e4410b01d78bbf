// SPDX-License-Identifier: Apache-2.0
// x[key]. Most keys consist of integers and slices of integers: one operator, without any Python code.
// megengine.core.tensor.indexing handles the others.

#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "python/src/call_op.h"
#include "python/src/errors.h"
#include "python/src/meaning.h"
#include "python/src/reference.h"
#include "python/src/tensor/plain_integers.h"
#include "python/src/tensor/tensor_object.h"

namespace mge::python {
namespace {

bool read_bound(PyObject* bound, int64_t& value) { return bound == Py_None || read_integer(bound, value); }

// Returns false if the entry is neither an integer nor a slice of integers.
bool add_items(int64_t axis, PyObject* entry, IntList& items) {
    int64_t begin = ops::absent_bound, end = ops::absent_bound, step = 1;
    const bool is_index = read_integer(entry, begin);
    if (!is_index) {
        if (!PySlice_Check(entry)) return false;
        auto& slice = *reinterpret_cast<PySliceObject*>(entry);
        if (!read_bound(slice.start, begin) || !read_bound(slice.stop, end) ||
            !read_bound(slice.step, step) || step == 0)
            return false;
        if (begin == ops::absent_bound && end == ops::absent_bound && step == 1) return true;
    }
    items.insert(items.end(), {axis, begin, end, step, is_index});
    return true;
}

// Returns the items of ops::Slice for a key; empty if the key needs more than that operator.
IntList items_of(PyObject* self, PyObject* key) {
    PyObject* const* entries = PyTuple_CheckExact(key) ? PySequence_Fast_ITEMS(key) : &key;
    const Py_ssize_t count = PyTuple_CheckExact(key) ? PyTuple_GET_SIZE(key) : 1;
    if (meaning(self) || count > value_of(self).shape().rank()) return {};
    IntList items;
    for (Py_ssize_t i = 0; i < count; ++i)
        if (!add_items(i, entries[i], items)) return {};
    return items;
}

PyObject* get_by_other_key(PyObject* self, PyObject* key) {
    Reference indexing(PyImport_ImportModule("megengine.core.tensor.indexing"));
    return indexing ? PyObject_CallMethod(indexing.get(), "getitem", "OO", self, key) : nullptr;
}

PyObject* get_item(PyObject* self, PyObject* key) {
    return guarded([&] {
        ops::Slice::Params params{items_of(self, key)};
        if (params.items.empty()) return get_by_other_key(self, key);
        return call_with(ops::Slice::info, &params, self);
    });
}

// Implements the sequence protocol, which reversed() uses.
PyObject* get_item_at(PyObject* self, Py_ssize_t at) {
    Reference key(PyLong_FromSsize_t(at));
    return key ? get_item(self, key.get()) : nullptr;
}

}  // namespace

PyMappingMethods tensor_mapping_methods = {
    .mp_length = nullptr, .mp_subscript = get_item, .mp_ass_subscript = nullptr};
PySequenceMethods tensor_sequence_methods = {.sq_item = get_item_at};

}  // namespace mge::python
