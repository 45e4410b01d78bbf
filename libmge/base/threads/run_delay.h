// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether runnable threads had to wait for a CPU. This distinguishes busy neighbours from a host that takes
// CPUs away from a virtual machine: other threads would not get those, so yielding is useless.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "libmge/base/threads/spin.h"

namespace mge {

// The nanoseconds that a thread of this process has waited so far, from /proc; nullopt where the system does
// not count.
std::optional<int64_t> run_delay(pid_t thread);

class RunDelay {
public:
    void set_threads(std::vector<pid_t> threads) { threads_ = std::move(threads); }
    // True if they have waited for a large part of the time since the last call, or if that is unknown.
    bool was_long(Ticks now);
    // The part of its time of late that the first one has waited, as of the last call.
    double of_first() const { return of_first_; }

private:
    std::vector<pid_t> threads_;
    int64_t last_ = 0, last_of_first_ = 0;
    double of_first_ = 0;
    Ticks last_query_ = 0;
};

}  // namespace mge
