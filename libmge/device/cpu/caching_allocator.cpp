// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/cpu/caching_allocator.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <new>

#include "libmge/base/error.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/base/threads/at_fork.h"
#include "libmge/device/cpu/large_block.h"
#include "libmge/device/cpu/memory_limit.h"

namespace mge {
namespace {

constexpr size_t alignment = 64;
constexpr int small_classes = CachingAllocator::small_classes;  // cached per thread
constexpr int kept_per_class = 16;

// A request takes a free block whose value may have grown in small steps: one that lacks at most this part of
// it, or half of it below 1 MB. Misses since the block was freed sum up to so many bytes, because sizes that
// alternate are requested again before. A workload that repeats itself keeps all of its sizes in the end,
// because these blocks only become larger.
constexpr size_t small_part = 16, half_below = 1 << 20, growing_bytes = 16 << 20;
// If more than so many bytes, or this part of all, are free, another one of these blocks goes back to the
// system, provided that the value has just had a size of nearly as many bytes.
constexpr size_t most_free_bytes = 32 << 20, most_free_part = 8;
// A block of any size is taken once misses sum up to so many times the peak: those who use some sizes in turn
// keep them all.
constexpr size_t idle_peaks = 8;

// Small class c holds blocks of 64 · 2^(c/4) · (1 + (c%4)/4) bytes.
constexpr size_t class_bytes(int size_class) {
    size_t base = alignment << (size_class / 4);
    return base + base / 4 * size_t(size_class % 4);
}
int class_of(size_t bytes) {
    if (bytes <= alignment) return 0;
    if (bytes > class_bytes(small_classes - 1)) return small_classes;
    int power = std::bit_width((bytes - 1) / alignment);  // bytes ≤ 64 · 2^power
    for (int c = 4 * (power - 1) + 1; c < 4 * power; ++c)
        if (class_bytes(c) >= bytes) return c;
    return 4 * power;
}

// Rounds up in steps of 1/32 of the power of two below, which wastes less than 3.2 %. That matters for
// weights and arenas.
size_t rounded_bytes(int size_class, size_t bytes) {
    if (size_class < small_classes) return class_bytes(size_class);
    size_t step = std::max(alignment, std::bit_floor(bytes) / 32);
    return round_up(bytes, step);
}

void* take_from_system(size_t bytes) {
    constexpr size_t many_pages = 64 << 10;
    if (bytes >= mapped_bytes) return map_large_block(bytes);
    void* data = std::aligned_alloc(alignment, round_up(bytes, alignment));
    if (data && bytes >= many_pages) populate(data, bytes);
    return data;
}

void raise_to(std::atomic<size_t>& peak, size_t now) {
    size_t highest = peak.load(std::memory_order_relaxed);
    while (now > highest && !peak.compare_exchange_weak(highest, now, std::memory_order_relaxed)) {
    }
}

struct ThreadCache {
    std::array<std::array<Storage*, kept_per_class>, small_classes> blocks;
    std::array<uint8_t, small_classes> count{};
    void (*give_back)(Storage*) = nullptr;
    ThreadCache();
    ~ThreadCache();
};

// A plain pointer in static TLS: accessing an object with a destructor costs two calls each time.
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadCache* thread_cache = nullptr;
constinit thread_local bool is_cache_closed = false;

ThreadCache::ThreadCache() { thread_cache = this; }
ThreadCache::~ThreadCache() {
    is_cache_closed = true;
    thread_cache = nullptr;
    for (int c = 0; c < small_classes; ++c)
        while (count[c] > 0) give_back(blocks[c][--count[c]]);
}

[[gnu::noinline]] ThreadCache* open_thread_cache() try {
    if (is_cache_closed) return nullptr;
    // On the heap, because a dlopened library gets only a few bytes of static TLS, which the pointers need.
    thread_local const auto cache = std::make_unique<ThreadCache>();
    return cache.get();
} catch (const std::bad_alloc&) {
    return nullptr;
}

// Returns nullptr if the thread is ending or there is no memory for a cache.
inline ThreadCache* cache_of_thread() {
    ThreadCache* cache = thread_cache;
    return cache ? cache : open_thread_cache();
}

}  // namespace

namespace {

// Never destroyed: tensors in static storage are released during static destruction.
struct Allocators {
    std::array<std::atomic<CachingAllocator*>, 256> by_index{};
    std::mutex adding;

    CachingAllocator& find(int index) {
        auto* found = by_index.at(size_t(index)).load(std::memory_order_acquire);
        return found ? *found : make(index);
    }
    [[gnu::noinline]] CachingAllocator& make(int index) {
        auto& slot = by_index[size_t(index)];
        std::lock_guard lock(adding);
        if (auto* found = slot.load(std::memory_order_relaxed)) return *found;
        auto* made = std::make_unique<CachingAllocator>(index).release();
        slot.store(made, std::memory_order_release);
        return *made;
    }
    template <class Fn>
    void for_each(Fn fn) {
        for (auto& slot : by_index)
            if (auto* allocator = slot.load(std::memory_order_acquire)) fn(*allocator);
    }
    // No allocator can be added between the two steps.
    void lock() {
        adding.lock();
        for_each([](auto& allocator) { allocator.lock_for_fork(); });
    }
    void unlock() {
        for_each([](auto& allocator) { allocator.unlock_after_fork(); });
        adding.unlock();
    }
};
constinit Allocators allocators;

// Registered first, so locked last: memory is allocated while other locks are held.
constexpr auto all_allocators = []() -> auto& { return allocators; };
[[gnu::init_priority(1000)]] const HeldAcrossFork<decltype(all_allocators)> allocators_at_fork(
    all_allocators);

}  // namespace

CachingAllocator& cpu_allocator(int index) { return allocators.find(index); }

void set_cpu_memory_limit(size_t bytes, ptrdiff_t charged) { cpu_allocator().set_limit(bytes, charged); }

void charge_to_cpu_memory_limit(ptrdiff_t bytes) { cpu_allocator().charge_to_limit(bytes); }

StorageRef CachingAllocator::allocate(size_t bytes) {
    // Fast path: the thread usually has a cached block, and then this function calls nothing and saves no
    // registers.
    if (index_ == 0 && bytes <= class_bytes(small_classes - 1)) {
        const int c = class_of(bytes);
        ThreadCache* cache = thread_cache;
        if (cache && cache->count[c] > 0) [[likely]]
            return hand_out(cache->blocks[c][--cache->count[c]], bytes);
    }
    return allocate_from_all(bytes);
}

StorageRef CachingAllocator::allocate_from_all(size_t bytes) {
    constexpr size_t largest = size_t(1) << 46;
    if (bytes > largest)
        throw MemoryError(text("cannot allocate ", bytes, " bytes: more than any machine has"));
    int c = class_of(bytes);
    size_t rounded = rounded_bytes(c, bytes);
    Storage* storage = c < small_classes ? take_small(c) : take_large(rounded);
    if (storage && c == small_classes && storage->bytes != rounded) storage = resize_block(storage, rounded);
    return hand_out(storage ? storage : make_block(c, rounded, bytes), bytes);
}

// Returns the block with its first reference.
inline StorageRef CachingAllocator::hand_out(Storage* storage, size_t requested) {
    storage->users.store(1, std::memory_order_relaxed);
    const size_t bytes = storage->bytes, now = allocated_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    const bool is_new = now > peak_.load(std::memory_order_relaxed);
    if (is_new || limit_.load(std::memory_order_relaxed)) [[unlikely]]
        return note_allocated(storage, now, requested);
    return StorageRef(storage);
}

StorageRef CachingAllocator::note_allocated(Storage* storage, size_t now, size_t requested) {
    StorageRef result(storage);  // frees the block if require_within_limit() throws
    if (limit_.load(std::memory_order_relaxed))
        require_within_limit(ptrdiff_t(now), ptrdiff_t(storage->bytes), requested);
    raise_to(peak_, now);
    return result;
}

void CachingAllocator::note_reserved(size_t bytes) {
    raise_to(peak_reserved_, reserved_.fetch_add(bytes, std::memory_order_relaxed) + bytes);
}

void CachingAllocator::require_within_limit(ptrdiff_t now, ptrdiff_t bytes, size_t requested) const {
    auto limit = ptrdiff_t(limit_.load(std::memory_order_relaxed));
    ptrdiff_t counted = now + charged_.load(std::memory_order_relaxed);
    // The caller's StorageRef frees the block and subtracts `bytes` again.
    if (counted > limit)
        throw MemoryError(text("cannot allocate ", requested, " bytes: ", counted - bytes,
                               " of the limit of ", limit, " bytes are in use"));
}

Storage* CachingAllocator::take_small(int size_class) {
    std::lock_guard lock(mutex_);
    Storage*& list = free_[size_t(size_class)];
    Storage* storage = list;
    if (storage) list = storage->next_free;
    return storage;
}

Storage* CachingAllocator::take_large(size_t bytes) {
    std::lock_guard lock(mutex_);
    auto found = free_large_.find(bytes);
    if (found == free_large_.end() || found->second.empty()) {
        missed_ += bytes;
        Storage* storage = take_growing(bytes);
        return storage ? storage : take_idle(bytes);
    }
    Storage* storage = found->second.back().block;
    found->second.pop_back();
    return storage;
}

Storage* CachingAllocator::take_old(std::vector<FreeBlock>& blocks, uint64_t least_missed) const {
    if (blocks.empty() || missed_ - blocks.front().freed_at < least_missed) return nullptr;
    Storage* storage = blocks.front().block;
    blocks.erase(blocks.begin());
    return storage;
}

Storage* CachingAllocator::take_growing(size_t bytes) {
    const size_t step_before = bytes - bytes / small_part;
    auto before = free_large_.lower_bound(bytes);
    const bool grows =
        before != free_large_.begin() && (--before)->first >= step_before && !before->second.empty();
    const size_t least = bytes < half_below ? bytes / 2 : step_before;
    auto next = [&, at = free_large_.lower_bound(least)]() mutable -> Storage* {
        for (; at != free_large_.end() && at->first < bytes; ++at)
            if (Storage* storage = take_old(at->second, growing_bytes)) return storage;
        return nullptr;
    };
    Storage* taken = next();
    if (!taken) return nullptr;
    const size_t reserved = reserved_.load(std::memory_order_relaxed);
    const size_t most_free = std::max(most_free_bytes, reserved / most_free_part);
    const size_t in_use = allocated_.load(std::memory_order_relaxed) + taken->bytes;
    if (grows && reserved > in_use + most_free)
        if (Storage* surplus = next()) free_block(surplus);
    return taken;
}

// The largest block below this size, because growing adds only the missing pages; else the smallest above.
Storage* CachingAllocator::take_idle(size_t bytes) {
    const uint64_t least_missed = idle_peaks * peak_.load(std::memory_order_relaxed);
    auto above = free_large_.lower_bound(bytes);
    for (auto below = above; below != free_large_.begin();)
        if (Storage* storage = take_old((--below)->second, least_missed)) return storage;
    for (; above != free_large_.end(); ++above)
        if (Storage* storage = take_old(above->second, least_missed)) return storage;
    return nullptr;
}

Storage* CachingAllocator::resize_block(Storage* storage, size_t bytes) {
    void* data = resize_large_block(storage->data, storage->bytes, bytes);
    if (!data) {
        free_block(storage);
        return nullptr;
    }
    reserved_.fetch_sub(storage->bytes, std::memory_order_relaxed);
    note_reserved(bytes);
    storage->data = data;
    storage->bytes = bytes;
    return storage;
}

Storage* CachingAllocator::make_block(int size_class, size_t bytes, size_t requested) {
    auto storage = std::make_unique<Storage>();
    void* data = take_from_system(bytes);
    if (!data) {
        release_cached();
        data = take_from_system(bytes);
    }
    if (!data) throw MemoryError(text("the system has no ", requested, " bytes of memory left"));
    note_reserved(bytes);
    if (bytes < mapped_bytes) in_heap_.fetch_add(bytes, std::memory_order_relaxed);
    storage->data = data;
    storage->bytes = bytes;
    storage->size_class = uint8_t(size_class);
    storage->device_index = index_;
    storage->release = release;
    return storage.release();
}

void CachingAllocator::free_block(Storage* storage) {
    reserved_.fetch_sub(storage->bytes, std::memory_order_relaxed);
    if (storage->bytes >= mapped_bytes) {
        unmap_large_block(storage->data, storage->bytes);
    } else {
        std::free(storage->data);
        in_heap_.fetch_sub(storage->bytes, std::memory_order_relaxed);
    }
    std::unique_ptr<Storage>{storage};
}

// Must not throw: if the free list cannot grow, the block is returned to the system.
void CachingAllocator::keep_for_all(Storage* block) try {
    std::lock_guard lock(mutex_);
    if (block->size_class == small_classes) {
        free_large_[block->bytes].push_back({block, missed_});
        return;
    }
    Storage*& list = free_[block->size_class];
    block->next_free = list;
    list = block;
} catch (const std::bad_alloc&) {
    free_block(block);
}

void CachingAllocator::release(Storage* storage) {
    auto& self = cpu_allocator(storage->device_index);
    self.allocated_.fetch_sub(storage->bytes, std::memory_order_relaxed);
    int c = storage->size_class;
    ThreadCache* cache = c < small_classes && self.index_ == 0 ? cache_of_thread() : nullptr;
    if (cache && cache->count[c] < kept_per_class) [[likely]] {
        cache->give_back = [](Storage* block) { cpu_allocator().keep_for_all(block); };
        cache->blocks[c][cache->count[c]++] = storage;
        return;
    }
    self.keep_for_all(storage);
}

MemoryStats CachingAllocator::stats() const {
    return {allocated_.load(), reserved_.load(), in_heap_.load(),
            peak_.load(),      limit_.load(),    peak_reserved_.load()};
}

void CachingAllocator::reset_peaks() {
    peak_.store(allocated_.load());
    peak_reserved_.store(reserved_.load());
}

void CachingAllocator::release_cached() {
    std::array<Storage*, small_classes> small{};
    std::map<size_t, std::vector<FreeBlock>> large;
    {
        std::lock_guard lock(mutex_);
        std::swap(small, free_);
        std::swap(large, free_large_);
    }
    for (Storage* block : small)
        while (block) free_block(std::exchange(block, block->next_free));
    for (auto& [bytes, blocks] : large)
        for (auto& each : blocks) free_block(each.block);
}

}  // namespace mge
