// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work that a queue keeps instead of doing it, to be asked for as a whole: one call where there were many.

#include <functional>
#include <memory>

#include "libmge/base/api.h"

namespace mge {

// Its addresses are those that it was recorded with; whoever has it keeps that memory.
class MGE_API Recording {
public:
    virtual ~Recording();
    // Asks the queue for all of it.
    virtual void replay() const = 0;
};

// What a queue that can keep work is besides.
class MGE_API RecordingQueue {
public:
    virtual ~RecordingQueue();
    // What the calling thread asks of the queue inside of `ask`; others may use the queue meanwhile. Null
    // when it cannot be kept, because somebody has to wait in the middle, or takes memory: none of it is done
    // then. Throws what `ask` throws.
    virtual std::unique_ptr<const Recording> record_work(const std::function<void()>& ask) = 0;
};

}  // namespace mge
