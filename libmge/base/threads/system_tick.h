// SPDX-License-Identifier: Apache-2.0
#pragma once
// The system takes a CPU from a thread that shares it at its ticks, milliseconds apart and on all CPUs at
// once. What ends before the next one is not cut in two. Nobody tells when they come, but there is a clock
// that only they move: whoever watches it for some of them knows all others.

#include <cstdint>

#include "libmge/base/threads/spin.h"

namespace mge {

// From one tick to the next.
Ticks system_tick_period();

bool knows_system_ticks();
// Watches some ticks, awake; they are not known yet when they did not come at equal distances or when this
// thread lost its CPU. After some vain attempts it does nothing.
void watch_system_ticks();

// From now to the next one: more than none, at most a period, which it also is while they are not known.
// Costs some tens of nanoseconds.
Ticks until_system_tick();

// Nanoseconds. From `now` to the next of the times that are whole periods away from `tick`.
int64_t until_tick(int64_t now, int64_t tick, int64_t period);

}  // namespace mge
