// SPDX-License-Identifier: Apache-2.0
#pragma once
// Other libraries' streams of the device of a queue. They are named as DLPack names them: by their addresses,
// or 1 for the stream of those who say none.

#include <cstdint>

#include "libmge/base/api.h"

namespace mge {

inline constexpr uintptr_t unnamed_stream = 1;

// What a queue that can do so is besides.
class MGE_API StreamSharingQueue {
public:
    virtual ~StreamSharingQueue();
    // The queue's own, for others to make it wait.
    virtual uintptr_t stream_address() = 0;
    // What is asked of the stream from now on waits for what the queue was asked for before; and the other
    // way round.
    virtual void let_wait(uintptr_t stream) = 0;
    virtual void wait_for_stream(uintptr_t stream) = 0;
    // What the queue, or anybody on its device, was asked for is done, with or without errors, which are told
    // to others who wait.
    virtual void finish() noexcept = 0;
    virtual void finish_device() noexcept = 0;
};

}  // namespace mge
