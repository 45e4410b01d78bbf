// SPDX-License-Identifier: Apache-2.0
#pragma once
// A device for tests on machines without another one. Its addresses are the host's plus an offset into
// inaccessible memory, so that access by the host, or by a CPU kernel, is always a fault. Each of its queues
// has a thread that does the work in order but late, and in any order relative to other queues: results are
// missing without a wait. Freed memory is overwritten in its queue's order. Its kernels are the CPU's, on
// translated addresses.

#include <thread>

#include "libmge/tensor/device_id.h"

namespace mge {
struct Backend;
}

namespace mge::test {

// For those who add it themselves: library.cpp, which tools load.
const Backend& shadow_backend();

// shadow0, shadow1, each with queues 0–3. The backend is added at the first call.
DeviceId shadow_device(int index = 0, int stream = 0);

// Fails the next piece of work that the queue begins, with a DeviceError of this text.
void fail_next_work(DeviceId queue, const char* text);

// The thread that has asked the queue for work last.
std::thread::id last_caller(DeviceId queue);

// A queue that begins nothing for the life of the scope.
class HeldQueue {
public:
    explicit HeldQueue(DeviceId queue);
    ~HeldQueue();
    HeldQueue(const HeldQueue&) = delete;

private:
    DeviceId queue_;
};

// A queue whose device has no clock, for the lifetime of the scope.
class HiddenClock {
public:
    explicit HiddenClock(DeviceId queue);
    ~HiddenClock();
    HiddenClock(const HiddenClock&) = delete;

private:
    DeviceId queue_;
};

}  // namespace mge::test
