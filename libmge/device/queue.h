// SPDX-License-Identifier: Apache-2.0
#pragma once
// A queue runs the work of a device in order. Launches and copies may run after the call that enqueues them
// has returned. Different queues run concurrently. On a CPU the calling thread does the work at once, so
// there is nothing to wait for.

#include <cstddef>
#include <memory>

#include "libmge/base/api.h"
#include "libmge/tensor/device_id.h"
#include "libmge/tensor/storage.h"

namespace mge {

// A point in a queue: everything enqueued before it.
class MGE_API Event {
public:
    virtual ~Event() = default;
    // Blocks the calling thread until the point is reached. Throws the errors of that work.
    virtual void wait() const = 0;
    // Returns the time since an earlier event, measured by the device's clock, and waits for both. Both
    // events must come from record_time().
    virtual double milliseconds_since(const Event& earlier) const;
};

class MGE_API Queue {
public:
    virtual ~Queue() = default;
    // Allocates at least `bytes` bytes, aligned to 64, for work of this queue. Throws MemoryError if the
    // limit or the system refuses. Freed blocks may be reused at once, because in-flight work of the queue
    // runs before their next use.
    virtual StorageRef allocate(size_t bytes) = 0;
    // The host memory may be changed as soon as the call returns.
    virtual void copy_from_host(void* target, const void* source, size_t bytes) = 0;
    // The data has arrived when the call returns. Throws the errors of earlier work.
    virtual void copy_to_host(void* target, const void* source, size_t bytes) = 0;
    // The source may be on this device or on another one of the same kind.
    virtual void copy(void* target, const void* source, size_t bytes) = 0;
    virtual void fill(void* target, int byte, size_t bytes) = 0;
    // Returns nullptr if no work can be in flight.
    virtual std::shared_ptr<const Event> record() = 0;
    // Returns an event with a time stamp, or nullptr if the host's clock suffices because calls return when
    // their work is done.
    virtual std::shared_ptr<const Event> record_time() { return nullptr; }
    // Makes all later work of this queue wait for the event, which may belong to any device.
    virtual void wait_for(const Event& event) = 0;
    // Makes all later work of this queue wait for all work that `other` has so far.
    void run_after(Queue& other) {
        if (auto point = other.record()) wait_for(*point);
    }
    // Blocks the calling thread until the queue is empty. Throws the first error since the last wait, except
    // errors that a WorkOrigin has kept. The queue remains usable.
    virtual void wait() = 0;
};

// Copies bytes between any two devices: after the work that both queues have, and before their later work.
MGE_API void copy_between(DeviceId to, void* target, DeviceId from, const void* source, size_t bytes);

// Returns the queue of the device and stream that `id` names.
MGE_API Queue& queue_of(DeviceId id);

}  // namespace mge
