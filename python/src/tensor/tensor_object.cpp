// SPDX-License-Identifier: Apache-2.0
#include "python/src/tensor/tensor_object.h"

#include <structmember.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "libmge/device/default_device.h"
#include "libmge/device/queue.h"
#include "libmge/eager/trace.h"
#include "python/src/errors.h"
#include "python/src/gil.h"
#include "python/src/graph_binding.h"
#include "python/src/meaning.h"
#include "python/src/object_access.h"
#include "python/src/reference.h"
#include "python/src/subgraph_binding.h"
#include "python/src/tensor/conversion.h"
#include "python/src/tensor/type_slots.h"

namespace mge::python {

PyTypeObject* tensor_type = nullptr;
PyTypeObject* result_class = nullptr;

namespace {

// The value of a Tensor before __init__ ran: objects always have a value.
const Tensor& empty_value() {
    static const Tensor value = empty_tensor({DType::f32, {0}, {}});
    return value;
}

bool is_of_dtype(PyObject* tensor, PyObject* dtype) {
    Reference wanted = meaning_of(dtype, tensor);
    if (!have_same_meaning(meaning(tensor), wanted.get())) return false;
    return wanted ? is_made_of(wanted.get(), value_of(tensor).dtype())
                  : parse_dtype(dtype) == value_of(tensor).dtype();
}

std::string name_of_dtype(PyObject* tensor) {
    if (is_complex(tensor)) return "complex numbers";
    if (is_low_bit(tensor)) return "low-bit numbers";
    return text(meaning(tensor) ? "steps of " : "", value_of(tensor).dtype());
}

// Tensor(other) shares the value; a given dtype or device must be equal.
void init_from_tensor(PyTensor* self, PyObject* data, PyObject* dtype, PyObject* device) {
    const Tensor& value = value_of(data);
    if (dtype != Py_None && !is_of_dtype(data, dtype))
        throw UserError(text("[Tensor] the data is a tensor of ", name_of_dtype(data),
                             "; use astype to change its dtype"));
    if (device != Py_None && !(parse_device_argument(device) == value.device()))
        throw UserError("[Tensor] the data is a tensor on another device; use to() to move it");
    self->value = value;
    give_meaning(reinterpret_cast<PyObject*>(self), meaning(data));
    self->format = as_tensor(data)->format;
}

// In a function that is recorded as a graph, the value becomes a constant.
Tensor made_of(PyObject* data, PyObject* dtype, PyObject* device) {
    Tensor value = tensor_from_python(data, dtype == Py_None ? DType::none : parse_dtype(dtype),
                                      parse_device_argument(device));
    if (running_captures && innermost_capture()) value.impl()->symbol = literal_mark;
    return value;
}

// Adopts the memory of another library's array. Returns false if Tensors cannot use it.
bool init_from_foreign(PyTensor* self, PyObject* data) {
    bool is_plain = PyLong_Check(data) || PyFloat_Check(data) || PyList_Check(data) || PyTuple_Check(data);
    if (is_plain || is_array(data) || running_captures || !PyObject_HasAttrString(data, "__dlpack__"))
        return false;
    Reference home(PyImport_ImportModule("megengine.utils.dlpack"));
    Reference made(home ? PyObject_CallMethod(home.get(), "from_dlpack", "O", data) : nullptr);
    if (!made && PyErr_ExceptionMatches(PyExc_BufferError)) {
        PyErr_Clear();  // a dtype to narrow, or elements to copy
        return false;
    }
    if (!made) throw PythonError{};
    self->value = value_of(made.get());
    self->keeps_memory = as_tensor(made.get())->keeps_memory;
    return true;
}

// Maps the device in a pickle. The class's dmap_callback is set while megengine.load() reads, whatever module
// does the unpickling.
Reference mapped_device(PyObject* object, PyObject* device) {
    if (!PyUnicode_Check(device)) return Reference(Py_NewRef(device));
    Reference map(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "dmap_callback"));
    if (!map) clear_exception();  // not a class of megengine
    if (!map || map.get() == Py_None) return Reference(Py_NewRef(device));
    Reference mapped(PyObject_CallFunctionObjArgs(map.get(), device, nullptr));
    if (!mapped) throw PythonError{};
    return mapped;
}

int init_tensor(PyObject* object, PyObject* args, PyObject* keywords);

struct TensorArguments {
    PyObject *data = nullptr, *dtype = Py_None, *device = Py_None, *name = Py_None, *format = nullptr;
    int is_const = 0, no_cache = 0;
};

TensorArguments parse_tensor_arguments(PyObject* args, PyObject* keywords) {
    static const char* names[] = {"data",     "dtype", "device", "is_const",
                                  "no_cache", "name",  "format", nullptr};
    TensorArguments a;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|OOppOO:Tensor", const_cast<char**>(names), &a.data,
                                     &a.dtype, &a.device, &a.is_const, &a.no_cache, &a.name, &a.format))
        throw PythonError{};
    return a;
}

void give_name(PyObject* object, PyObject* name) {
    if (name == Py_None) return;
    if (!PyUnicode_Check(name)) throw UserError("[Tensor] name must be a string", ErrorClass::type);
    set_reference(as_tensor(object)->name, Py_NewRef(name));
}

void give_data(PyObject* object, const TensorArguments& a) {
    PyTensor* self = as_tensor(object);
    Reference place = mapped_device(object, a.device);
    PyObject* device = place.get();
    if (is_tensor(a.data)) {
        init_from_tensor(self, a.data, a.dtype, device);
    } else if (a.no_cache || a.dtype != Py_None || device != Py_None || !init_from_foreign(self, a.data)) {
        Reference meant = meaning_of(a.dtype, a.data);
        Reference plain = plain_data(meant.get(), a.data);
        self->value = made_of(plain.get(), plain.get() == a.data ? a.dtype : Py_None, device);
        give_meaning(object, meant.get());
    }
    give_name(object, a.name);
    if (a.format) self->format = parse_format(a.format);
    self->awaits_data = false;
}

// Arguments of a subclass's own __init__ may have names that Tensor does not accept.
Reference known_keywords(PyTypeObject* type, PyObject* keywords) {
    const bool is_own_init = PyType_GetSlot(type, Py_tp_init) == reinterpret_cast<void*>(&init_tensor);
    if (!keywords || is_own_init) return Reference(Py_XNewRef(keywords));
    Reference known(PyDict_New());
    for (const char* name : {"data", "dtype", "device", "is_const", "no_cache", "name", "format"}) {
        PyObject* value = PyDict_GetItemString(keywords, name);
        if (value && PyDict_SetItemString(known.get(), name, value) != 0) throw PythonError{};
    }
    return known;
}

// Sets the data, so that a subclass need not call __init__. Without arguments the object is empty, and
// __init__ sets the data.
PyObject* new_tensor(PyTypeObject* type, PyObject* args, PyObject* keywords) {
    return guarded(
        [&] {
            Reference self(PyType_GenericAlloc(type, 0));
            if (!self) throw PythonError{};
            ::new (&value_of(self.get())) Tensor(empty_value());
            as_tensor(self.get())->awaits_data = true;
            if (running_captures) as_tensor(self.get())->recording = innermost_capture();
            if (PyTuple_Size(args) > 0 || (keywords && PyDict_Size(keywords) > 0)) {
                Reference known = known_keywords(type, keywords);
                give_data(self.get(), parse_tensor_arguments(args, known.get()));
            }
            return self.release();
        },
        static_cast<PyObject*>(nullptr));
}

int init_tensor(PyObject* object, PyObject* args, PyObject* keywords) {
    bool awaits_data = as_tensor(object)->awaits_data;
    if (!awaits_data && !keywords && PyTuple_Size(args) == 1) return 0;
    return guarded(
        [&] {
            TensorArguments a = parse_tensor_arguments(args, keywords);
            awaits_data ? give_data(object, a) : give_name(object, a.name);
            return 0;
        },
        -1);
}

int traverse_tensor(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(as_tensor(self)->grad);
    Py_VISIT(as_tensor(self)->attributes);
    return 0;
}

int clear_tensor(PyObject* self) {
    Py_CLEAR(as_tensor(self)->grad);
    Py_CLEAR(as_tensor(self)->attributes);
    return 0;
}

bool has_attachments(const PyTensor& tensor) {
    return tensor.grad || tensor.attributes || tensor.weak || tensor.name || tensor.meaning;
}

// Memory of destroyed results for reuse: every eager operator creates and destroys objects, and Python's own
// allocation takes half the time of a small operator. Guarded by the GIL.
constexpr size_t most_kept = 64;
std::array<PyObject*, most_kept> kept_objects;
size_t kept_count = 0;

// Objects with finalizers are not kept: the next object in their memory would count as finalized.
void free_tensor(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    std::destroy_at(&value_of(self));
    if (type == result_class && kept_count < most_kept && !has_finalizer(type))
        kept_objects[kept_count++] = self;
    else
        PyObject_GC_Del(self);
    Py_DECREF(type);
}

void free_with_attachments(PyObject* self) {
    clear_tensor(self);
    Py_CLEAR(as_tensor(self)->name);
    Py_CLEAR(as_tensor(self)->meaning);
    free_tensor(self);
}

// Attachments may be tensors with attachments. Beyond this depth objects wait in a list instead of on the
// stack, linked by `weak`.
constexpr int deepest_deletion = 50;
thread_local int deletion_depth = 0;
thread_local PyObject* waiting_for_deletion = nullptr;

[[gnu::noinline]] void delete_with_attachments(PyObject* self) {
    if (as_tensor(self)->weak) PyObject_ClearWeakRefs(self);
    if (deletion_depth == deepest_deletion) {
        as_tensor(self)->weak = std::exchange(waiting_for_deletion, self);
        return;
    }
    ++deletion_depth;
    free_with_attachments(self);
    while (deletion_depth == 1 && waiting_for_deletion) {
        PyObject* next = waiting_for_deletion;
        waiting_for_deletion = std::exchange(as_tensor(next)->weak, nullptr);
        free_with_attachments(next);
    }
    --deletion_depth;
}

// Python's own function that destroys objects of classes. It calls the finalizer and then delete_tensor().
destructor delete_by_python = nullptr;

// Also called directly for objects of the result class, which may get a finalizer at any time.
void delete_tensor(PyObject* self) {
    if (has_finalizer(Py_TYPE(self)) && !PyObject_GC_IsFinalized(self)) [[unlikely]]
        return delete_by_python(self);
    PyObject_GC_UnTrack(self);
    if (has_attachments(*as_tensor(self))) [[unlikely]]
        return delete_with_attachments(self);
    free_tensor(self);
}

// Returns an untracked object without a value; nullptr if out of memory.
PyObject* new_result() {
    if (kept_count == 0) {
        PyObject* self = PyType_GenericAlloc(result_class, 0);
        if (self) PyObject_GC_UnTrack(self);
        return self;
    }
    PyObject* self = kept_objects[--kept_count];
    std::memset(static_cast<void*>(&value_of(self)), 0, sizeof(PyTensor) - offsetof(PyTensor, value));
    return PyObject_Init(self, result_class);
}

// Reads a value of a trace by the method of the class, which takes note of shapes that become numbers.
void numpy_by_method(PyObject* self) {
    Reference array(PyObject_CallMethod(self, "numpy", nullptr));
    if (!array) throw PythonError{};
}

// A read-only view of the memory that numpy() shows.
int get_buffer(PyObject* self, Py_buffer* view, int flags) {
    view->obj = nullptr;
    return guarded(
        [&] {
            if (value_of(self).is_symbolic()) numpy_by_method(self);
            auto& value = concrete_value(self);
            bool has_format = value.dtype() != DType::bf16 && !meaning(self);
            if (!has_format || (flags & PyBUF_WRITABLE)) {
                PyErr_SetString(PyExc_BufferError,
                                has_format ? "[Tensor] its buffer is read only"
                                           : "[Tensor] buffers have no such dtype; convert with astype");
                throw PythonError{};
            }
            Reference array(numpy_from_tensor(value));
            return PyObject_GetBuffer(array.get(), view, flags);
        },
        -1);
}

// By address, whose lowest bits are zeros.
Py_hash_t hash_tensor(PyObject* self) { return Py_hash_t(std::rotr(reinterpret_cast<uintptr_t>(self), 4)); }

constexpr const char* tensor_doc =
    "Tensor(data, dtype=None, device=None, is_const=False, no_cache=False, name=None, "
    "format='default')\n--\n\n"
    "A value on a device; megengine.Tensor adds the rest.";

// Lets PyType_FromSpec() know where attributes and weak references are.
PyMemberDef tensor_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PyTensor, weak), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(PyTensor, attributes), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyTypeObject* make_tensor_type() {
    std::vector<PyType_Slot> slots{
        type_slot(Py_tp_dealloc, delete_tensor),
        type_slot(Py_tp_traverse, traverse_tensor),
        type_slot(Py_tp_clear, clear_tensor),
        type_slot(Py_tp_init, init_tensor),
        type_slot(Py_tp_new, new_tensor),
        type_slot(Py_tp_hash, hash_tensor),
        type_slot(Py_tp_richcompare, compare_tensors),
        type_slot(Py_bf_getbuffer, get_buffer),
        {Py_tp_doc, const_cast<char*>(tensor_doc)},
        {Py_tp_methods, tensor_methods},
        {Py_tp_getset, tensor_properties},
        {Py_tp_members, tensor_members},
    };
    std::ranges::copy(tensor_number_slots(), std::back_inserter(slots));
    std::ranges::copy(tensor_index_slots(), std::back_inserter(slots));
    slots.push_back({0, nullptr});
    PyType_Spec spec{"megengine._mge.Tensor", int(sizeof(PyTensor)), 0,
                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
                     slots.data()};
    PyObject* type = PyType_FromSpec(&spec);
    if (!type) throw PythonError{};
    return reinterpret_cast<PyTypeObject*>(type);
}

// Lets objects of the subclass be destroyed without a detour through Python's own function, which does more
// than objects without slots need.
void shorten_deletion(PyTypeObject* type) {
    destructor* slot = dealloc_slot(type);
    if (slot && *slot != delete_tensor) delete_by_python = std::exchange(*slot, delete_tensor);
}

}  // namespace

const char* const format_names[] = {"default", "nchw", "nhwc"};

uint8_t parse_format(PyObject* format) {
    const char* name = PyUnicode_Check(format) ? utf8_of(format) : nullptr;
    for (uint8_t i = 0; name && i < 3; ++i)
        if (std::string_view(format_names[i]) == name) return i;
    throw UserError("[Tensor] format must be 'default', 'nchw' or 'nhwc'", ErrorClass::value);
}

const Tensor& concrete_value(const Tensor& tensor) {
    if (tensor.is_symbolic()) [[unlikely]] {
        if (auto* known = value_before_run(tensor)) return *known;
        Tensor held = tensor;
        GilReleased released;  // may wait for other processes
        Trace::compute(held);
    }
    return tensor;
}

const Tensor& concrete_value(PyObject* object) { return concrete_value(value_of(object)); }

PyObject* number_from_tensor(PyObject* object) {
    const Tensor& value = concrete_value(object);
    if (!is_complex(object)) return scalar_from_tensor(value);
    if (value.spec().numel() != 2)
        throw UserError("[item] only a tensor of one element is a number", ErrorClass::assertion);
    Reference array(numpy_from_tensor(value, meaning(object)));
    PyObject* number = PyObject_CallMethod(array.get(), "item", nullptr);
    if (!number) throw PythonError{};
    return number;
}

namespace {

// Returns true if the value was written: it may be too large for the object's memory, or have another dtype.
// Tape entries of the value are copied to the object.
bool write_value(PyTensor* object, const Tensor& given) {
    const Tensor& value = concrete_value(given);
    auto& mine = object->value;
    object->keeps_memory =
        value.dtype() == mine.dtype() && value.shape() == mine.shape() && value.device() == mine.device();
    if (!object->keeps_memory || value.address() == mine.address()) return false;
    size_t bytes = mine.spec().bytes();
    if (mine.device().is_host()) {
        std::memmove(mine.data(), value.data(), bytes);
    } else {
        // Wait: other processes may be notified without regard to queues.
        auto& queue = queue_of(mine.device());
        queue.copy(mine.address(), value.address(), bytes);
        queue.wait();
    }
    const TensorImpl &before = *mine.impl(), &from = *value.impl();
    Tensor written(before.spec, before.storage, before.offset, before.device);
    written.impl()->tracked_by = from.tracked_by;
    written.impl()->tape_node = from.tape_node;
    mine = std::move(written);
    return true;
}

}  // namespace

void give_value(PyObject* object, Tensor value) {
    if (running_captures) [[unlikely]]
        note_change(object);
    if (value.is_symbolic() && rebind(object, value)) [[unlikely]]
        return;
    if (as_tensor(object)->keeps_memory && write_value(as_tensor(object), value)) [[unlikely]]
        return;
    value_of(object) = std::move(value);
}

PyObject* wrap_tensor(Tensor value) {
    if (value.is_symbolic()) [[unlikely]]
        if (PyObject* object = object_of_symbol(value)) return object;
    PyObject* self = new_result();
    if (!self) throw PythonError{};
    ::new (&value_of(self)) Tensor(std::move(value));
    if (running_captures) [[unlikely]]
        as_tensor(self)->recording = innermost_capture();
    PyObject_GC_Track(self);
    return self;
}

PyObject* wrap_tensors(Tensors values) {
    Reference tuple(PyTuple_New(Py_ssize_t(values.size())));
    if (!tuple) throw PythonError{};
    for (size_t i = 0; i < values.size(); ++i)
        set_tuple_item(tuple.get(), i, wrap_tensor(std::move(values[i])));
    return tuple.release();
}

void set_result_class(PyTypeObject* type) {
    if (!PyType_IsSubtype(type, tensor_type))
        throw UserError("[set_tensor_class] the class must be a subclass of _mge.Tensor", ErrorClass::type);
    Reference size(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__basicsize__"));
    if (!size) throw PythonError{};
    if (PyLong_AsSize_t(size.get()) != sizeof(PyTensor))
        throw UserError("[set_tensor_class] the class must not add slots", ErrorClass::type);
    Py_INCREF(reinterpret_cast<PyObject*>(type));
    if (type != tensor_type) shorten_deletion(type);
    // Earlier classes stay alive, because objects of them may still be in use.
    result_class = type;
}

void add_tensor_type(PyObject* module) {
    prepare_number_slots();
    find_type_slots();
    result_class = tensor_type = make_tensor_type();
    if (PyModule_AddObjectRef(module, "Tensor", reinterpret_cast<PyObject*>(tensor_type)) != 0)
        throw PythonError{};
}

}  // namespace mge::python
