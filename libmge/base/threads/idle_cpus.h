// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many of the CPUs that this thread may use do nothing.

#include <cstdint>
#include <optional>

#include "libmge/base/threads/spin.h"

namespace mge {

// Idle time of those CPUs in 1/100 s, from text as in /proc/stat; nullopt when it tells none of them.
std::optional<int64_t> idle_time(const char* stat, const bool (&is_usable)[1024]);

// Looks at the system's figures again and again. A look costs tens of microseconds: the system counts in
// steps of 10 ms, so there is none before some of them have passed, nor so often that it takes more than a
// hundredth of the time.
class IdleCpus {
public:
    // Begins to count.
    void start(Ticks now);
    // The mean number since the last answer; nullopt while it is too early to say, and where the system
    // does not tell.
    std::optional<double> look(Ticks now);

private:
    Ticks since_ = 0, next_ = 0;
    std::optional<int64_t> idle_;
};

}  // namespace mge
