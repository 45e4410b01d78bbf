// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the work of a device happens in order. A launch or a copy may be done later than the call that asks
// for it, but after all that was asked of its queue before; queues run beside each other. On a CPU the
// calling thread does the work at once, so that there is nothing to wait for.

#include <cstddef>
#include <memory>

#include "libmge/base/api.h"
#include "libmge/tensor/device_id.h"
#include "libmge/tensor/storage.h"

namespace mge {

// A point in the work of a queue: all that was asked of it before.
class MGE_API Event {
public:
    virtual ~Event() = default;
    // The calling thread waits. Throws what went wrong in that work.
    virtual void wait() const = 0;
    // For two of record_time(), the earlier one given: the time between them by the device's own clock. Waits
    // for both.
    virtual double milliseconds_since(const Event& earlier) const;
};

class MGE_API Queue {
public:
    virtual ~Queue() = default;
    // At least `bytes` bytes aligned to 64, for work of this queue; MemoryError when the limit or the system
    // refuses. A block that was given back may be handed out again at once: what is still under way on the
    // queue comes before whatever uses it next.
    virtual StorageRef allocate(size_t bytes) = 0;
    // The host's memory may change as soon as the call returns.
    virtual void copy_from_host(void* target, const void* source, size_t bytes) = 0;
    // The bytes are there when the call returns. Throws what went wrong in the work before it.
    virtual void copy_to_host(void* target, const void* source, size_t bytes) = 0;
    // From memory of this device, or of another one of the same kind.
    virtual void copy(void* target, const void* source, size_t bytes) = 0;
    virtual void fill(void* target, int byte, size_t bytes) = 0;
    // Null when nothing can be under way.
    virtual std::shared_ptr<const Event> record() = 0;
    // One that knows when the queue came to it. Null where the host's clock tells, because the work is done
    // when the call that asks for it returns.
    virtual std::shared_ptr<const Event> record_time() { return nullptr; }
    // What is asked of this queue from now on waits for the event, of whatever device.
    virtual void wait_for(const Event& event) = 0;
    // The same for all that was asked of the other queue up to now.
    void come_behind(Queue& other) {
        if (auto point = other.record()) wait_for(*point);
    }
    // The calling thread waits for all of it. Throws the first error of the work since the last wait, but not
    // those that a WorkOrigin has kept; the queue can be used again afterwards.
    virtual void wait() = 0;
};

// Moves bytes between any two places: after what is under way on both queues and before what is asked of them
// next.
MGE_API void copy_between(DeviceId to, void* target, DeviceId from, const void* source, size_t bytes);

// That of a device and its stream number.
MGE_API Queue& queue_of(DeviceId id);

}  // namespace mge
