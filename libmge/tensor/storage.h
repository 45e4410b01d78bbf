// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "libmge/base/api.h"
#include "libmge/tensor/device_id.h"

namespace mge {

// A block of device memory with a count of its users. It belongs to a queue's allocator, or is borrowed from
// an owner (a mapped file, a NumPy array); `release` returns it there.
struct Storage {
    std::atomic<uint32_t> users{1};            // may still say 1 when it is released
    uint8_t device_index = 0, size_class = 0;  // the allocator's own notes
    void* data = nullptr;
    size_t bytes = 0;
    void (*release)(Storage*) = nullptr;
    Storage* next_free = nullptr;  // the allocator's own link
};

// Releases one user; returns true for the last one. A sole user knows that no other can appear: then nothing
// is subtracted, which saves a locked instruction.
inline bool drop_reference(std::atomic<uint32_t>& users) {
    return users.load(std::memory_order_acquire) == 1 || users.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

class StorageRef {
public:
    StorageRef() = default;
    explicit StorageRef(Storage* adopted) : storage_(adopted) {}
    StorageRef(const StorageRef& other) : storage_(other.storage_) {
        if (storage_) storage_->users.fetch_add(1, std::memory_order_relaxed);
    }
    StorageRef(StorageRef&& other) noexcept : storage_(std::exchange(other.storage_, nullptr)) {}
    StorageRef& operator=(StorageRef other) noexcept {
        std::swap(storage_, other.storage_);
        return *this;
    }
    ~StorageRef() {
        if (storage_ && drop_reference(storage_->users)) storage_->release(storage_);
    }
    Storage* operator->() const { return storage_; }
    Storage* get() const { return storage_; }
    explicit operator bool() const { return storage_ != nullptr; }

private:
    Storage* storage_ = nullptr;
};

// Memory of another owner; `owner` lives as long as the storage.
MGE_API StorageRef borrow_storage(const void* data, size_t bytes, std::shared_ptr<const void> owner);

}  // namespace mge
