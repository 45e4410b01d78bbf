// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <poll.h>

#include <chrono>
#include <span>

#include "libmge/base/api.h"

namespace mge {

using Deadline = std::chrono::steady_clock::time_point;

// Sets a function that may end waits by throwing: it is called about ten times a second during a wait and
// after a signal. By default there is no such function.
MGE_API void set_interruption(void (*may_throw)());
// Replaces it on the calling thread.
MGE_API void set_interruption_of_thread(void (*may_throw)());
// Calls it.
MGE_API void check_interruption();
// Calls poll() until a descriptor is ready or the time is over; returns the number of ready ones. The wait
// can be interrupted.
MGE_API int wait_for_events(std::span<pollfd> entries, Deadline end);

}  // namespace mge
