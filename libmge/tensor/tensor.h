// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "libmge/base/api.h"
#include "libmge/base/error.h"
#include "libmge/tensor/device_id.h"
#include "libmge/tensor/spec.h"
#include "libmge/tensor/storage.h"

namespace mge {

// The state of a Tensor. A value never changes after its creation; in-place operators may reuse the storage
// of an input without other users.
struct TensorImpl {
    // Not an aggregate: aggregate initialisation would zero all of it first, a tenth of a small operator's
    // time.
    TensorImpl(DeviceId where, const TensorSpec& what, StorageRef memory, size_t start)
        : device(where), spec(what), storage(std::move(memory)), offset(start) {}

    std::atomic<uint32_t> users{1};
    DeviceId device;
    TensorSpec spec;
    StorageRef storage;
    size_t offset = 0;  // bytes from the start of the storage

    // A symbolic tensor has no storage: it names a value of the graph that `symbol_owner` is building.
    void* symbol_owner = nullptr;
    int symbol = -1;

    // The eager tape's notes: which tapes track this value (one bit each) and the node that made it.
    uint64_t tracked_by = 0;
    uint64_t tape_node = 0;
};

// A handle to a value: null, concrete (has memory, always dense and row-major) or symbolic (a value of a
// graph).
class MGE_API Tensor {
public:
    Tensor() = default;
    Tensor(const TensorSpec& spec, StorageRef storage, size_t offset = 0, DeviceId device = {});
    static Tensor symbolic(const TensorSpec& spec, void* owner, int symbol, DeviceId device = {});

    Tensor(const Tensor& other) : impl_(other.impl_) {
        if (impl_) impl_->users.fetch_add(1, std::memory_order_relaxed);
    }
    Tensor(Tensor&& other) noexcept : impl_(std::exchange(other.impl_, nullptr)) {}
    Tensor& operator=(const Tensor& other) {
        Tensor copy(other);
        std::swap(impl_, copy.impl_);
        return *this;
    }
    Tensor& operator=(Tensor&& other) noexcept {
        std::swap(impl_, other.impl_);
        return *this;
    }
    ~Tensor() {
        if (impl_ && drop_reference(impl_->users)) destroy(impl_);
    }

    explicit operator bool() const { return impl_ != nullptr; }
    bool is_symbolic() const { return impl_->symbol_owner != nullptr; }
    const TensorSpec& spec() const { return impl_->spec; }
    DType dtype() const { return impl_->spec.dtype; }
    const Shape& shape() const { return impl_->spec.shape; }
    DeviceId device() const { return impl_->device; }

    // Address of the first element on its device, for launches and copies; null for symbolic tensors.
    void* address() const {
        return impl_->storage ? static_cast<char*>(impl_->storage->data) + impl_->offset : nullptr;
    }
    // Returns the data for the host: read-only, except for the function that made the tensor. Throws
    // UserError if the tensor is on another device; to_host() copies it.
    void* data() const {
        if (!impl_->device.is_host()) [[unlikely]]
            throw_not_on_host();
        return address();
    }
    template <class T>
    T* data() const {
        MGE_CHECK(DTypeOf<T> == dtype(), "asked for ", DTypeOf<T>, ", holds ", dtype());
        return static_cast<T*>(data());
    }
    // True when this handle is the only user of the value and of its memory: then it may be overwritten.
    bool is_sole_owner() const {
        return impl_->users.load(std::memory_order_acquire) == 1 && impl_->storage &&
               impl_->storage->users.load(std::memory_order_acquire) == 1;
    }
    // The same memory under another shape of equally many elements (no copy).
    Tensor with_shape(const Shape& shape) const;
    // Another handle for the same memory, with separate notes.
    Tensor alias() const;

    TensorImpl* impl() const { return impl_; }
    bool is_same(const Tensor& other) const { return impl_ == other.impl_; }

private:
    template <size_t>
    friend class BorrowedTensors;
    explicit Tensor(TensorImpl* adopted) : impl_(adopted) {}
    static void destroy(TensorImpl* impl);
    [[noreturn]] void throw_not_on_host() const;
    TensorImpl* impl_ = nullptr;
};
using Tensors = std::vector<Tensor>;

// The operands of a call as an array. The caller keeps them alive, so they do not count as users.
template <size_t N>
class BorrowedTensors {
public:
    template <class... T>
    explicit BorrowedTensors(const T&... tensors) : list_{Tensor(tensors.impl_)...} {}
    ~BorrowedTensors() {}  // the tensors are not destroyed
    BorrowedTensors(const BorrowedTensors&) = delete;
    BorrowedTensors& operator=(const BorrowedTensors&) = delete;
    operator std::span<const Tensor>() const { return list_; }

private:
    union {
        std::array<Tensor, N> list_;
    };
};

// Returns one spec per tensor; an absent tensor has dtype none.
MGE_API TensorSpecs specs_of(std::span<const Tensor> tensors);

}  // namespace mge
