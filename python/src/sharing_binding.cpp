// SPDX-License-Identifier: Apache-2.0
#include "python/src/sharing_binding.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "libmge/device/default_device.h"
#include "libmge/device/sharing.h"
#include "libmge/device/stream_sharing.h"
#include "libmge/device/upload.h"
#include "libmge/eager/written_elsewhere.h"
#include "libmge/tensor/borrowed.h"
#include "python/src/errors.h"
#include "python/src/meaning.h"
#include "python/src/shared_memory.h"
#include "python/src/tensor/conversion.h"
#include "python/src/tensor/dlpack.h"
#include "python/src/tensor/lent_memory.h"
#include "python/src/tensor/tensor_arguments.h"

namespace nb = nanobind;

namespace mge::python {
namespace {

[[noreturn]] void throw_buffer_error(const std::string& message) {
    PyErr_SetString(PyExc_BufferError, message.c_str());
    throw PythonError{};
}

dlpack::DataType exported_type(DType dtype) {
    auto bits = uint8_t(8 * size_of(dtype));
    if (dtype == DType::boolean) return {dlpack::truth, bits, 1};
    if (dtype == DType::bf16) return {dlpack::brain_float, bits, 1};
    if (is_float(dtype)) return {dlpack::floating, bits, 1};
    if (is_narrow(dtype))
        throw_buffer_error(
            text("[to_dlpack] DLPack has no elements of dtype ", dtype, "; convert them first"));
    return {is_unsigned(dtype) ? dlpack::unsigned_int : dlpack::signed_int, bits, 1};
}

DType imported_type(dlpack::DataType type) {
    constexpr DType all[] = {DType::boolean, DType::u8,  DType::i8,   DType::u16, DType::i16,
                             DType::i32,     DType::f16, DType::bf16, DType::f32};
    for (DType dtype : all) {
        auto known = exported_type(dtype);
        if (known.code == type.code && known.bits == type.bits && type.lanes == 1) return dtype;
    }
    throw_buffer_error(text("[from_dlpack] elements of type code ", int(type.code), " with ", int(type.bits),
                            " bits and ", type.lanes, " lanes cannot be a Tensor's; convert them first"));
}

// Returns the queue of a device whose memory other libraries can use, or nullptr.
StreamSharingQueue* sharing_queue(DeviceId id) {
    return id.is_host() ? nullptr : dynamic_cast<StreamSharingQueue*>(&queue_of(id));
}

// DLPack's stream numbers: None is the default stream, 0 is invalid, negative means no synchronisation.
std::optional<uintptr_t> stream_of(std::optional<int64_t> named, const char* who) {
    if (named == 0) throw_buffer_error(text("[", who, "] 0 is no stream of a GPU; 1 is the default one"));
    if (named && *named < 0) return std::nullopt;
    return named ? uintptr_t(*named) : unnamed_stream;
}

// The consumer's handle: the tensor lives until the consumer calls the deleter, on any thread. The deleter
// waits for the consumer's earlier GPU work; for the default stream it need not block.
template <class Managed>
struct Export {
    Managed managed{};
    Tensor tensor;
    StreamSharingQueue* queue = nullptr;
    std::optional<uintptr_t> stream{};
    std::array<int64_t, max_rank> shape{}, strides{};
    WrittenElsewhere written_elsewhere;

    Export() = default;
    Export(const Export&) = delete;
    ~Export() {
        if (queue && !follows_unnamed()) queue->finish_device();
    }
    // True if later work of the queue runs after all earlier work of that stream.
    bool follows_unnamed() const {
        if (stream != unnamed_stream) return false;
        try {
            queue->wait_for_stream(unnamed_stream);
            return true;
        } catch (const Error&) {
            return false;
        }
    }
};

// `queue` is that of the GPU whose memory the consumer's stream reads; nullptr for host memory.
template <class Managed>
PyObject* export_tensor(Tensor tensor, bool is_copy, StreamSharingQueue* queue,
                        std::optional<uintptr_t> stream) {
    auto exported = std::make_unique<Export<Managed>>();
    auto& managed = exported->managed;
    auto& kept = exported->tensor;
    auto &shape = exported->shape, &strides = exported->strides;
    kept = std::move(tensor);
    int rank = kept.shape().rank();
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; --i) {
        shape[size_t(i)] = kept.shape()[i];
        strides[size_t(i)] = stride;
        stride *= kept.shape()[i];
    }
    auto place = queue ? dlpack::Device{dlpack::cuda, kept.device().index} : dlpack::Device{dlpack::cpu, 0};
    void* data = queue ? const_cast<void*>(kept.address()) : kept.data();
    managed.view = {data, place, rank, exported_type(kept.dtype()), shape.data(), strides.data(), 0};
    if (queue && stream) queue->let_wait(*stream);
    if (!is_copy) exported->written_elsewhere = WrittenElsewhere(kept.impl()->storage.get());
    exported->queue = queue;
    exported->stream = stream;
    managed.context = exported.get();
    managed.deleter = [](Managed* self) {
        std::unique_ptr<Export<Managed>>(static_cast<Export<Managed>*>(self->context));
    };
    if constexpr (std::is_same_v<Managed, dlpack::ManagedVersioned>) {
        managed.major = Managed::major_version;
        if (is_copy) managed.flags = dlpack::is_copied;
    }
    PyObject* capsule = PyCapsule_New(&managed, Managed::name, [](PyObject* self) {
        // A consumer that took the memory has renamed the capsule.
        if (!PyCapsule_IsValid(self, Managed::name)) return;
        auto* unused = static_cast<Managed*>(PyCapsule_GetPointer(self, Managed::name));
        unused->deleter(unused);
    });
    if (!capsule) throw PythonError{};
    exported.release();
    return capsule;
}

// False for memory that must not change, such as weights of a file or a read-only array.
bool may_be_written(PyObject* object) {
    auto& value = value_of(object);
    return as_tensor(object)->keeps_memory || !value.impl()->storage ||
           !is_borrowed(*value.impl()->storage.get());
}

// Returns a copy on the value's device, or on the host.
Tensor copied(const Tensor& value, bool to_the_host) {
    if (to_the_host) {
        Tensor there = to_host(value);
        return tensor_from_host(there.spec(), there.data(), host_device);
    }
    Tensor own = empty_tensor(value.spec(), value.device());
    queue_of(value.device()).copy(own.address(), value.address(), value.spec().bytes());
    return own;
}

nb::object to_capsule(nb::handle object, bool versioned, std::optional<bool> copy, bool on_host,
                      std::optional<int64_t> stream) {
    tensor_argument(object, "to_dlpack");
    Tensor value = concrete_value(object.ptr());
    if (meaning(object.ptr()))
        throw_buffer_error(
            "[to_dlpack] quantised and complex Tensors are not handed out; convert with astype, or take "
            "functional.real and imag, first");
    auto* queue = on_host ? nullptr : sharing_queue(value.device());
    if (!on_host && !queue)
        throw_buffer_error("[to_dlpack] only memory of CPUs and GPUs is handed out; use to('cpu0') first");
    bool has_to = on_host != value.device().is_host() || !may_be_written(object.ptr());
    if (has_to && copy == false)
        throw_buffer_error(
            "[to_dlpack] this Tensor can only be exported as a copy: it is on another "
            "device, or in read-only memory");
    bool is_copy = has_to || copy == true;
    if (is_copy) value = copied(value, on_host);
    auto waits = queue ? stream_of(stream, "to_dlpack") : std::nullopt;
    return nb::steal(versioned
                         ? export_tensor<dlpack::ManagedVersioned>(std::move(value), is_copy, queue, waits)
                         : export_tensor<dlpack::Managed>(std::move(value), is_copy, queue, waits));
}

// The device for foreign host memory: the default device if it is a CPU.
DeviceId default_host() { return default_device().is_host() ? default_device() : host_device; }

// Returns the device of a view. Throws BufferError if it is not supported.
DeviceId imported_place(const dlpack::View& view) {
    if (view.device.type == dlpack::cpu || view.device.type == dlpack::cuda_host) return default_host();
    std::string why = "only CPUs and GPUs are known here";
    if (view.device.type == dlpack::cuda) {
        try {
            DeviceId id = parse_device(text("gpu", view.device.index));
            if (sharing_queue(id)) return id;
        } catch (const Error& error) {
            why = error.what();
        }
    }
    throw_buffer_error(text("[from_dlpack] the data is on a device of type ", view.device.type,
                            " and number ", view.device.index, ": ", why));
}

// GPU memory of another library. Our reads finish before it is returned to that library.
template <class Owner>
std::shared_ptr<const void> finished_first(std::shared_ptr<Owner> owner, StreamSharingQueue& queue) {
    return {owner.get(), [owner, &queue](const void*) mutable {
                queue.finish();
                owner.reset();
            }};
}

bool is_dense(const dlpack::View& view) {
    if (std::any_of(view.shape, view.shape + view.rank, [](int64_t extent) { return extent == 0; }))
        return true;
    int64_t stride = 1;
    for (int i = view.rank - 1; i >= 0; --i) {
        if (view.shape[i] != 1 && view.strides && view.strides[i] != stride) return false;
        stride *= view.shape[i];
    }
    return true;
}

// Copies the elements in row-major order.
Tensor dense_copy(const dlpack::View& view, const TensorSpec& spec, const char* data) {
    Tensor result = empty_tensor(spec, host_device);
    auto size = int64_t(size_of(spec.dtype));
    auto* to = static_cast<char*>(result.data());
    std::array<int64_t, max_rank> index{};
    for (int64_t n = spec.numel(); n > 0; --n, to += size) {
        int64_t at = 0;
        for (int i = 0; i < view.rank; ++i) at += index[size_t(i)] * view.strides[i];
        std::memcpy(to, data + at * size, size_t(size));
        for (int i = view.rank - 1; i >= 0 && ++index[size_t(i)] == view.shape[i]; --i) index[size_t(i)] = 0;
    }
    return result;
}

TensorSpec imported_spec(const dlpack::View& view) {
    if (view.rank < 0 || view.rank > max_rank)
        throw_buffer_error(text("[from_dlpack] rank ", view.rank, " is more than ", max_rank));
    return {imported_type(view.dtype), Shape(std::span<const int64_t>(view.shape, size_t(view.rank))), {}};
}

// Borrows memory that its owner may write to.
StorageRef borrow_from_others(const void* data, size_t bytes, std::shared_ptr<const void> owner) {
    struct Kept {
        std::shared_ptr<const void> owner;
        WrittenElsewhere written_elsewhere;
    };
    auto kept = std::make_shared<Kept>(std::move(owner));
    StorageRef storage = borrow_storage(data, bytes, kept);
    kept->written_elsewhere = WrittenElsewhere(storage.get());
    return storage;
}

template <class Managed>
nb::object import_tensor(nb::handle capsule, std::optional<bool> copy, std::optional<int64_t> stream) {
    auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), Managed::name));
    if (!managed) throw PythonError{};
    bool is_read_only = false;
    if constexpr (std::is_same_v<Managed, dlpack::ManagedVersioned>) {
        if (managed->major != Managed::major_version)
            throw_buffer_error(
                text("[from_dlpack] version ", managed->major, " of DLPack is not known here"));
        is_read_only = managed->flags & dlpack::read_only;
    }
    const dlpack::View& view = managed->view;
    TensorSpec spec = imported_spec(view);
    DeviceId place = imported_place(view);
    auto* queue = sharing_queue(place);
    auto* data = static_cast<const char*>(view.data) + view.byte_offset;
    bool is_aligned = reinterpret_cast<uintptr_t>(data) % size_of(spec.dtype) == 0;
    bool has_to_copy = !is_dense(view) || !is_aligned;
    if (has_to_copy && copy == false)
        throw_buffer_error("[from_dlpack] Tensors are dense and aligned; this data can only be copied");
    if (has_to_copy && queue)
        throw_buffer_error("[from_dlpack] Tensors are dense and aligned; make the data so on its GPU first");
    if (!queue && stream && *stream >= 0)
        throw_buffer_error(text("[from_dlpack] a CPU has no streams, got ", *stream));
    if (queue)
        if (auto waits_for = stream_of(stream, "from_dlpack")) queue->wait_for_stream(*waits_for);
    if (PyCapsule_SetName(capsule.ptr(), Managed::used_name) != 0) throw PythonError{};
    std::shared_ptr<Managed> owner(managed, [](Managed* done) {
        if (done->deleter) done->deleter(done);
    });
    if (has_to_copy) return nb::steal(wrap_tensor(dense_copy(view, spec, data)));
    if (copy == true && !queue) return nb::steal(wrap_tensor(tensor_from_host(spec, data, host_device)));
    std::shared_ptr<const void> kept = owner;
    if (queue) kept = finished_first(std::move(owner), *queue);
    Tensor there(spec, borrow_from_others(data, spec.bytes(), std::move(kept)), 0, place);
    if (copy == true) return nb::steal(wrap_tensor(copied(there, false)));
    auto result = nb::steal(wrap_tensor(std::move(there)));
    as_tensor(result.ptr())->keeps_memory = !is_read_only;
    return result;
}

nb::object from_capsule(nb::handle capsule, std::optional<bool> copy, std::optional<int64_t> stream) {
    if (PyCapsule_IsValid(capsule.ptr(), dlpack::ManagedVersioned::name))
        return import_tensor<dlpack::ManagedVersioned>(capsule, copy, stream);
    if (PyCapsule_IsValid(capsule.ptr(), dlpack::Managed::name))
        return import_tensor<dlpack::Managed>(capsule, copy, stream);
    throw UserError("[from_dlpack] expected an unused DLPack capsule", ErrorClass::value);
}

// Returns nullopt for a device whose queue has no stream.
std::optional<uintptr_t> stream_address(const std::string& name) {
    auto* queue = sharing_queue(parse_device(name));
    return queue ? std::optional(queue->stream_address()) : std::nullopt;
}

int shared_descriptor(nb::handle object) {
    auto& storage = tensor_argument(object, "is_shared").impl()->storage;
    return storage ? descriptor_of(*storage.get()) : -1;
}

// Returns the device if its memory can be shared; nullptr for host memory.
SharingDevice* sharing_device(DeviceId id) {
    return id.is_host() ? nullptr : dynamic_cast<SharingDevice*>(&device(id));
}

// GPU memory is shared in place; then new values of the object are written to it, too.
bool is_shared(nb::handle object) {
    auto& value = tensor_argument(object, "is_shared");
    if (value.is_symbolic() || !value.device().is_host())
        return !value.is_symbolic() && as_tensor(object.ptr())->keeps_memory;
    return shared_descriptor(object) >= 0;
}

// Moves the object's value to memory that processes can share.
void share_memory(nb::handle object) {
    if (is_shared(object) && as_tensor(object.ptr())->keeps_memory) return;
    tensor_argument(object, "share_memory");
    Tensor value = concrete_value(object.ptr());
    if (value.device().is_host()) {
        StorageRef shared = make_shared_memory(value.data(), value.spec().bytes());
        value_of(object.ptr()) = Tensor(value.spec(), std::move(shared), 0, value.device());
    } else {
        if (!sharing_device(value.device()))
            throw_user("share_memory", "only Tensors on a CPU or GPU can be shared; use to('cpu0') first");
        Tensor own = empty_tensor(value.spec(), value.device());
        queue_of(value.device()).copy(own.address(), value.address(), value.spec().bytes());
        value_of(object.ptr()) = std::move(own);
    }
    as_tensor(object.ptr())->keeps_memory = true;
}

// Returns descriptor, size in bytes, and offset of the value.
nb::tuple shared_part(nb::handle object) {
    auto& impl = *tensor_argument(object, "shared_part").impl();
    return nb::make_tuple(shared_descriptor(object), impl.storage->bytes, impl.offset);
}

// Returns device, descriptor to send, the block and the offset of the value in it.
nb::object lend_memory(nb::handle object) {
    share_memory(object);
    auto& value = value_of(object.ptr());
    auto& storage = value.impl()->storage;
    SharedBlock block = sharing_device(value.device())->share(*storage.get());
    return nb::make_tuple(physical_name(value.device()), lend(storage, block),
                          nb::bytes(block.handle.data(), block.handle.size()), block.offset, block.bytes,
                          value.impl()->offset);
}

// Parses the logical name if it names the sender's device here, too; else the physical name.
DeviceId received_device(const std::string& physical, const std::string& logical) {
    DeviceId id = parse_device(logical);
    return physical_name(id) == physical ? id : parse_device(physical);
}

void open_lent(nb::handle object, int descriptor, const nb::bytes& handle, size_t block_offset, size_t bytes,
               size_t offset, nb::handle dtype, const std::vector<int64_t>& shape,
               const std::string& physical, const std::string& logical) {
    auto keeper = receive_loan(descriptor);
    tensor_argument(object, "open_lent");
    TensorSpec spec{parse_dtype(dtype.ptr()), Shape(std::span<const int64_t>(shape)), {}};
    if (offset > bytes || spec.bytes() > bytes - offset)
        throw_user("open_lent", text(spec, " does not lie in ", bytes, " bytes"));
    DeviceId id = received_device(physical, logical);
    auto* there = sharing_device(id);
    if (!there) throw_user("open_lent", text(physical, " shares no memory"));
    SharedBlock block{{handle.c_str(), handle.size()}, block_offset, bytes};
    StorageRef storage = find_lent(block);
    if (!storage) storage = there->open_shared(block, std::move(keeper));
    value_of(object.ptr()) = Tensor(spec, std::move(storage), offset, id);
    as_tensor(object.ptr())->keeps_memory = true;
}

void open_shared(nb::handle object, int descriptor, size_t bytes, size_t offset, nb::handle dtype,
                 const std::vector<int64_t>& shape, nb::handle device) {
    tensor_argument(object, "open_shared");
    StorageRef storage = open_shared_memory(descriptor, bytes);
    TensorSpec spec{parse_dtype(dtype.ptr()), Shape(std::span<const int64_t>(shape)), {}};
    if (offset > bytes || spec.bytes() > bytes - offset)
        throw_user("open_shared", text(spec, " does not lie in ", bytes, " bytes"));
    value_of(object.ptr()) = Tensor(spec, std::move(storage), offset, parse_device_argument(device.ptr()));
    as_tensor(object.ptr())->keeps_memory = true;
}

}  // namespace

void add_sharing(PyObject* module_object) {
    nb::module_ module = nb::borrow<nb::module_>(module_object);
    module.def(
        "to_dlpack", &to_capsule, nb::arg("tensor"), nb::arg("versioned"), nb::arg("copy").none(),
        nb::arg("on_host"), nb::arg("stream").none(),
        "Returns a DLPack capsule with the memory of a Tensor. copy: True copies, False never copies, None "
        "copies if necessary. stream: the GPU stream, in DLPack's numbers, that waits for the value.");
    module.def("from_dlpack", &from_capsule, nb::arg("capsule"), nb::arg("copy").none(),
               nb::arg("stream").none(),
               "Returns a Tensor with the memory of a DLPack capsule, which is consumed. copy: True "
               "copies, False never copies, None copies if necessary. stream: the GPU stream that computes "
               "the value.");
    module.def("stream_address", &stream_address, nb::arg("device"),
               "Returns the stream of a device's queue as a DLPack number, or None for a device without "
               "streams.");
    module.def(
        "upload_overlapped",
        [](nb::handle host, nb::handle device) {
            tensor_argument(host, "upload_overlapped");
            return nb::steal(wrap_tensor(
                upload_overlapped(concrete_value(host.ptr()), parse_device_argument(device.ptr()))));
        },
        nb::arg("tensor"), nb::arg("device"),
        "Copies a Tensor on the CPU to a device, overlapping earlier work of that device.");
    module.def("share_memory", &share_memory, nb::arg("tensor"),
               "Moves a Tensor's value to memory that other processes can map.");
    module.def(
        "keeps_memory",
        [](nb::handle object) {
            tensor_argument(object, "keeps_memory");
            return as_tensor(object.ptr())->keeps_memory;
        },
        nb::arg("tensor"),
        "True if assignments to the Tensor are written to memory shared with other "
        "processes.");
    module.def(
        "can_share",
        [](nb::handle object) {
            tensor_argument(object, "can_share");
            DeviceId id = concrete_value(object.ptr()).device();
            return id.is_host() || sharing_device(id);
        },
        nb::arg("tensor"), "True if the Tensor's device has memory that other processes can map.");
    module.def("is_shared", &is_shared, nb::arg("tensor"),
               "True if a Tensor's value is stored in memory that other processes can map.");
    module.def("lend_memory", &lend_memory, nb::arg("tensor"),
               "Returns the handle with which another process opens a Tensor's value on a GPU. The value "
               "is kept until then.");
    module.def("open_lent", &open_lent, nb::arg("tensor"), nb::arg("descriptor"), nb::arg("handle"),
               nb::arg("block_offset"), nb::arg("bytes"), nb::arg("offset"), nb::arg("dtype"),
               nb::arg("shape"), nb::arg("physical"), nb::arg("logical"),
               "Makes a Tensor refer to the memory of another process. Takes ownership of the descriptor.");
    module.def("collect_loans", &collect_loans, "Releases memory that no other process maps any more.");
    module.def("shared_part", &shared_part, nb::arg("tensor"),
               "Returns the descriptor of the shared memory, its size in bytes and the offset of the value.");
    module.def("open_shared", &open_shared, nb::arg("tensor"), nb::arg("descriptor"), nb::arg("bytes"),
               nb::arg("offset"), nb::arg("dtype"), nb::arg("shape"), nb::arg("device"),
               "Makes a Tensor refer to shared memory. Takes ownership of the descriptor.");
}

}  // namespace mge::python
