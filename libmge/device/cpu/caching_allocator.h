// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "libmge/device/device.h"
#include "libmge/tensor/storage.h"

namespace mge {

// Allocates host memory in size classes: four per power of two up to 16 KiB, 32 above. A freed block stays in
// its class for the next request. Each thread caches a few small blocks, so that eager operators take no
// lock. Blocks of 2 MB and more use huge pages.
//
// Values that grow from run to run, such as the past of a language model, never return to earlier classes.
// So a request above 16 KiB that finds no block in its class may take one of another size, which is resized.
class CachingAllocator {
public:
    // `index` is the number of cpu0, cpu1, …, which have separate blocks and statistics. Thread caches hold
    // only blocks of cpu0.
    explicit CachingAllocator(int index) : index_(uint8_t(index)) {}
    StorageRef allocate(size_t bytes);
    MemoryStats stats() const;
    void set_limit(size_t bytes, ptrdiff_t charged = 0) {
        charged_.store(charged, std::memory_order_relaxed);
        limit_.store(bytes, std::memory_order_relaxed);
    }
    void charge_to_limit(ptrdiff_t bytes) { charged_.fetch_add(bytes, std::memory_order_relaxed); }
    void reset_peaks();
    void release_cached();

    // Held across fork(), so that the child's copy is consistent even if another thread was allocating.
    void lock_for_fork() { mutex_.lock(); }
    void unlock_after_fork() { mutex_.unlock(); }

    // Classes up to 16 KiB. Larger blocks have this number as their class.
    static constexpr int small_classes = 4 * 8;

private:
    struct FreeBlock {
        Storage* block;
        uint64_t freed_at;  // missed_ at that time
    };

    static void release(Storage* storage);
    Storage* take_small(int size_class);
    // Returns a block of this size, or one of another size that take_growing() or take_idle() found, or
    // nullptr.
    Storage* take_large(size_t bytes);
    Storage* take_growing(size_t bytes);
    Storage* take_idle(size_t bytes);
    // Returns the block that has been free for longest, if requests for so many bytes have missed since.
    Storage* take_old(std::vector<FreeBlock>& blocks, uint64_t least_missed) const;
    // Returns nullptr, and has freed the block, if it cannot have this size.
    Storage* resize_block(Storage* storage, size_t bytes);
    Storage* make_block(int size_class, size_t bytes, size_t requested);
    void keep_for_all(Storage* block);
    void free_block(Storage* storage);
    StorageRef allocate_from_all(size_t bytes);
    StorageRef hand_out(Storage* storage, size_t requested);
    StorageRef note_allocated(Storage* storage, size_t now, size_t requested);
    void note_reserved(size_t bytes);
    void require_within_limit(ptrdiff_t now, ptrdiff_t bytes, size_t requested) const;

    const uint8_t index_;
    std::mutex mutex_;
    std::array<Storage*, small_classes> free_{};
    std::map<size_t, std::vector<FreeBlock>> free_large_;  // by size in bytes; the last freed come last
    uint64_t missed_ = 0;  // sum of the bytes of requests above 16 KiB that found no block in their class
    std::atomic<size_t> allocated_{0}, reserved_{0}, in_heap_{0}, peak_{0}, limit_{0}, peak_reserved_{0};
    std::atomic<ptrdiff_t> charged_{0};
};

CachingAllocator& cpu_allocator(int index = 0);

}  // namespace mge
