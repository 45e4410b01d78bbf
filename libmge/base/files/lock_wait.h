// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <string>
#include <utility>

#include "libmge/base/api.h"

namespace mge {

// Limits the time that one user of a file waits for the locks of other processes, over all waits. Short waits
// that get their lock do not count, however many there are: then all users make progress. Time without a wait
// is credited to later waits. Not thread-safe.
class MGE_API LockWait {
public:
    using Milliseconds = std::chrono::milliseconds;
    // `what` names the file in the message.
    LockWait(std::string what, Milliseconds limit) : what_(std::move(what)), limit_(limit), left_(limit) {}

    // Sleeps a moment; false once the limit is used up, from then on without sleeping. A wait of more than a
    // second is announced by a warning. `is_another` says that the last wait got its lock; so does a call
    // long after the last one.
    bool wait_a_moment(bool is_another = false);
    std::string limit_text() const;  // "5 s"

private:
    using Clock = std::chrono::steady_clock;
    void begin_wait(Clock::time_point now);

    std::string what_;
    Clock::duration limit_, left_, left_before_{};  // the last: when the wait began
    Clock::time_point wait_began_, last_wait_;
    Clock::duration moment_{};
    bool is_used_up_ = false;
};

}  // namespace mge
