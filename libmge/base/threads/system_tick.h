// SPDX-License-Identifier: Apache-2.0
#pragma once
// The system preempts threads that share a CPU at its ticks, milliseconds apart and on all CPUs at once. Work
// that ends before the next tick is not preempted. There is no notification of ticks, but the coarse clock
// advances only at them: a few observations predict all others.

#include <cstdint>

#include "libmge/base/threads/spin.h"

namespace mge {

// The time between two ticks.
Ticks system_tick_period();

bool has_system_ticks();
// Observes some ticks without sleeping. They remain unknown if they were not equally spaced or if this thread
// lost its CPU. After some failed attempts it does nothing.
void watch_system_ticks();

// The time until the next tick: above 0, at most a period, which is also the value while they are unknown.
// Costs some tens of nanoseconds.
Ticks until_system_tick();

// In nanoseconds: from `now` to the next time that is a multiple of the period away from `tick`.
int64_t until_tick(int64_t now, int64_t tick, int64_t period);

}  // namespace mge
