// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory of contexts: arenas, whose values are not visible between runs, and memory allocated during a
// run. Contexts with the same ContextMemory share its arenas, each as large as the largest of them needs: the
// total is the maximum instead of the sum. They run one after the other.

#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "libmge/base/api.h"
#include "libmge/tensor/device_id.h"
#include "libmge/tensor/storage.h"

namespace mge {

// Each function may be overridden alone. May be used by several threads.
class MGE_API ContextAllocator {
public:
    static constexpr size_t invalid_version = std::numeric_limits<size_t>::max();

    virtual ~ContextAllocator() = default;
    // Allocates an arena of at least `bytes` bytes, aligned to 64. Throws MemoryError if memory is short.
    virtual StorageRef alloc_static(DeviceId place, size_t bytes);
    // Allocates during runs: values of run-time shapes, and those of programs without a plan.
    virtual StorageRef alloc_dynamic(DeviceId place, size_t bytes);
    // Announces that values are about to be moved together: requests for this many bytes in all follow.
    virtual void defrag_prealloc_contig(DeviceId, size_t) {}
    // Returns a version. If it differs from the previous one, arenas are allocated again before the next run.
    virtual size_t static_alloc_version(DeviceId) const { return 0; }
};

class RunTurn;

class MGE_API ContextMemory {
public:
    // Null: memory of the queues of the places.
    explicit ContextMemory(std::shared_ptr<ContextAllocator> allocator = nullptr);
    ~ContextMemory();

    // Returns the bytes of arenas at a place, or at all places.
    size_t bytes(DeviceId place) const;
    size_t bytes() const;
    // Frees the arenas; the next run of each context allocates again. Returns the number of contexts that use
    // them. Throws UserError during a run.
    size_t clear();
    // Makes the arena at a place at least this large. Returns its size. Throws UserError during a run.
    size_t prealloc(DeviceId place, size_t bytes);

private:
    friend class Arenas;
    struct Arena {
        DeviceId place;
        size_t wanted = 0, held = 0;  // bytes: by the largest context, and those of the storage
        size_t version = 0;
        StorageRef storage;
    };
    // Admits one user at a time. UserError if there is another one. A user whose thread does not exist after
    // a fork() is removed.
    void enter();
    // Another thread leaves. Called before that thread starts.
    void hand_over();
    void leave();

    Arena& arena(DeviceId place);
    // All that a context wants, also after clear() and when the allocator's version is another one.
    void make_ready(Arena& arena);
    void adopt(Arena& arena, StorageRef storage, size_t bytes);
    StorageRef allocate_dynamic(DeviceId place, size_t bytes);

    std::shared_ptr<ContextAllocator> allocator_;
    mutable std::mutex mutex_;
    std::vector<std::unique_ptr<Arena>> arenas_;  // by place
    size_t contexts_ = 0;
    std::atomic<uint64_t> generation_{1};  // rises when an arena moves or goes
    std::unique_ptr<RunTurn> user_;
};

}  // namespace mge
