// SPDX-License-Identifier: Apache-2.0
#pragma once
// Handles of C for C++ objects. A handle is a number that consists of the slot in a table and the slot's use
// count, so a destroyed or invalid handle is detected without dereferencing it. Lookups take no lock. An
// object that is in use when its handle is destroyed is freed by its last user.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "libmge/base/text.h"
#include "lite/error.h"

namespace lite::c {

template <class T>
class Handles {
    struct Slot {
        std::atomic<uint64_t> handle{0};  // 0: free, or given back
        std::atomic<uint32_t> users{0};
        uint32_t index = 0;
        std::atomic<T*> object{nullptr};
        std::shared_ptr<T> owner;
        uint64_t uses = 0;
    };

public:
    // `tag`: the first 16 bits of these handles and of no others; not 0, which addresses begin with.
    explicit Handles(uint64_t tag) : tag_(tag << 48) {}

    void* add(std::shared_ptr<T> object) {
        std::lock_guard lock(mutex_);
        if (free_.empty()) make_slot();
        size_t index = free_.back();
        free_.pop_back();
        Slot& slot = slot_at(index);
        uint64_t handle = tag_ | slot.uses << 24 | index;
        slot.uses = (slot.uses + 1) % (uint64_t{1} << 24);
        slot.object.store(object.get(), std::memory_order_relaxed);
        slot.owner = std::move(object);
        slot.handle.store(handle);
        return reinterpret_cast<void*>(handle);
    }

    // An object in use; null for an invalid handle.
    class Held {
    public:
        Held() = default;
        Held(Held&& other) noexcept : all_(std::exchange(other.all_, nullptr)), slot_(other.slot_) {}
        Held& operator=(Held&& other) noexcept {
            std::swap(all_, other.all_);
            std::swap(slot_, other.slot_);
            return *this;
        }
        ~Held() {
            if (all_) all_->release_slot(*slot_);
        }
        T* get() const { return all_ ? slot_->object.load(std::memory_order_relaxed) : nullptr; }

    private:
        friend class Handles;
        Held(Handles& all, Slot& slot) : all_(&all), slot_(&slot) {}
        Handles* all_ = nullptr;
        Slot* slot_ = nullptr;
    };

    // Null if it is not one of these handles, or was destroyed.
    Held hold(const void* handle) {
        Slot* slot = slot_of(reinterpret_cast<uint64_t>(handle));
        if (!slot) return {};
        ++slot->users;
        Held held(*this, *slot);
        // From here on, a thread that destroys the handle sees this user.
        if (slot->handle == reinterpret_cast<uint64_t>(handle)) [[likely]]
            return held;
        return {};
    }

    // Invalidates the handle. Returns false if it was not valid.
    bool remove(const void* handle) {
        Slot* slot = slot_of(reinterpret_cast<uint64_t>(handle));
        uint64_t given = reinterpret_cast<uint64_t>(handle);
        if (!slot || !slot->handle.compare_exchange_strong(given, 0)) return false;
        if (slot->users == 0) end(*slot);
        return true;
    }

    // Around a fork(): so no thread that the child lacks is inside.
    std::mutex& mutex() { return mutex_; }

private:
    static constexpr size_t chunk_size = 4096, chunk_count = 4096, max_index = chunk_size * chunk_count - 1;

    void release_slot(Slot& slot) {
        if (--slot.users == 0 && slot.handle == 0) end(slot);
    }
    // Frees the object in the slot, which has no users any more.
    void end(Slot& slot) {
        std::shared_ptr<T> ended;  // destroyed without the lock, because its destructor may destroy handles
        std::lock_guard lock(mutex_);
        if (slot.users != 0 || slot.handle != 0 || !slot.owner) return;
        ended.swap(slot.owner);
        free_.push_back(slot.index);
    }
    using Chunk = std::array<Slot, chunk_size>;

    Slot& slot_at(size_t index) const {
        return (*chunks_[index / chunk_size].load(std::memory_order_acquire))[index % chunk_size];
    }
    Slot* slot_of(uint64_t handle) const {
        size_t index = handle & max_index;
        if ((handle & 0xffff'0000'0000'0000) != tag_ || index >= size_.load(std::memory_order_acquire))
            return nullptr;
        Slot& slot = slot_at(index);
        return slot.handle.load(std::memory_order_acquire) == handle ? &slot : nullptr;
    }
    void make_slot() {
        size_t index = size_;
        if (index > max_index) throw Error(mge::text("there are ", index, " handles; no more are possible"));
        if (auto& chunk = chunks_[index / chunk_size]; !chunk.load(std::memory_order_relaxed))
            chunk.store(std::make_unique<Chunk>().release(), std::memory_order_release);
        slot_at(index).index = static_cast<uint32_t>(index);
        // Room for all slots: giving a handle back needs no memory.
        if (free_.capacity() <= index) free_.reserve(2 * index + 16);
        free_.push_back(static_cast<uint32_t>(index));
        size_.store(index + 1, std::memory_order_release);
    }

    const uint64_t tag_;
    std::mutex mutex_;
    std::vector<uint32_t> free_;
    std::atomic<size_t> size_{0};
    std::array<std::atomic<Chunk*>, chunk_count> chunks_{};  // live as long as the process
};

}  // namespace lite::c
