// SPDX-License-Identifier: Apache-2.0
#pragma once
// Synchronises a queue with streams of other libraries on its device. Streams are named as in DLPack: by
// address, or 1 for the default stream.

#include <cstdint>

#include "libmge/base/api.h"

namespace mge {

inline constexpr uintptr_t unnamed_stream = 1;

// Implemented by queues that can synchronise with foreign streams.
class MGE_API StreamSharingQueue {
public:
    virtual ~StreamSharingQueue();
    // Returns the address of the queue's own stream, so that other libraries can synchronise with it.
    virtual uintptr_t stream_address() = 0;
    // let_wait() makes later work of `stream` wait for the queue's work so far; wait_for_stream() makes later
    // work of the queue wait for that of `stream`.
    virtual void let_wait(uintptr_t stream) = 0;
    virtual void wait_for_stream(uintptr_t stream) = 0;
    // Waits for the work of the queue, or of its whole device. Errors are left for the next wait().
    virtual void finish() noexcept = 0;
    virtual void finish_device() noexcept = 0;
};

}  // namespace mge
