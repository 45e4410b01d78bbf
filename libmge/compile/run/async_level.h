// SPDX-License-Identifier: Apache-2.0
#pragma once
// CompileOptions::async_exec_level: which threads ask the queues of a program for its work. 0 is the thread
// that runs the context, others are the context's own.
//
//   0       the caller asks for everything
//   1       when the program runs on other devices than CPUs: each of them has a thread and all CPUs together
//           one. With one of these alone the caller asks
//   bit 2   every place has a thread, CPUs too, when there are several
//   bit 4   never the caller: what it would ask for, thread 1 does

#include <span>
#include <vector>

#include "libmge/tensor/device_id.h"

namespace mge {

// By place.
std::vector<int> threads_of_places(std::span<const DeviceId> places, int level);

// Who takes part in a step: the thread that asks for it, and those of other places that its operands lie at.
struct StepThreads {
    int owner = 0;
    std::vector<int> guests;
};

}  // namespace mge
