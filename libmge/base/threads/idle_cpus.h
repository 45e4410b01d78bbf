// SPDX-License-Identifier: Apache-2.0
#pragma once
// The number of idle CPUs among those that this thread may use.

#include <cstdint>
#include <optional>

#include "libmge/base/threads/spin.h"

namespace mge {

// Idle time of those CPUs in 1/100 s, from the text of /proc/stat; nullopt if it lists none of them.
std::optional<int64_t> idle_time(const char* stat, const bool (&is_usable)[1024]);

// Samples the system's counters repeatedly. A sample costs tens of microseconds. The system counts in steps
// of 10 ms, so samples are at least some steps apart, and take at most a hundredth of the time.
class IdleCpus {
public:
    // Begins to count.
    void start(Ticks now);
    // The mean number since the last result; nullopt while it is too early, or if the system has no counters.
    std::optional<double> look(Ticks now);

private:
    Ticks since_ = 0, next_ = 0;
    std::optional<int64_t> idle_;
};

}  // namespace mge
