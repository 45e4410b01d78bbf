// SPDX-License-Identifier: Apache-2.0
#pragma once
// Recordings of queue work, which are replayed by one call.

#include <functional>
#include <memory>

#include "libmge/base/api.h"

namespace mge {

// A recording contains memory addresses: its owner must keep that memory alive.
class MGE_API Recording {
public:
    virtual ~Recording();
    // Enqueues the recorded work.
    virtual void replay() const = 0;
};

// Implemented by queues that can record work.
class MGE_API RecordingQueue {
public:
    virtual ~RecordingQueue();
    // Records the work that the calling thread enqueues inside `enqueue`. Other threads may use the queue
    // meanwhile. Returns nullptr, and does none of the work, if `enqueue` waits or allocates. Rethrows what
    // `enqueue` throws.
    virtual std::unique_ptr<const Recording> record_work(const std::function<void()>& enqueue) = 0;
};

}  // namespace mge
