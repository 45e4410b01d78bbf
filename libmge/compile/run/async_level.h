// SPDX-License-Identifier: Apache-2.0
#pragma once
// CompileOptions::async_exec_level: the threads that enqueue the work of a program. Thread 0 runs the
// context; others belong to the context.
//
//   0       the caller enqueues everything
//   1       for programs on devices other than CPUs: one thread per such device and one for all CPUs; the
//           caller if there is only one of these
//   bit 2   one thread per place, including CPUs, if there are several
//   bit 4   thread 1 instead of the caller

#include <span>
#include <vector>

#include "libmge/tensor/device_id.h"

namespace mge {

// Returns the thread of each place.
std::vector<int> threads_of_places(std::span<const DeviceId> places, int level);

// The threads of a step: the one that enqueues it, and those of other places of its operands.
struct StepThreads {
    int owner = 0;
    std::vector<int> participants;
};

}  // namespace mge
