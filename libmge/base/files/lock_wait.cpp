// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/files/lock_wait.h"

#include <algorithm>
#include <thread>

#include "libmge/base/log.h"
#include "libmge/base/text.h"

namespace mge {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds shortest_moment{1}, longest_moment{50};
// The moment of a user that has waited long. Otherwise newcomers, which begin with short moments, would
// always get the lock first.
constexpr milliseconds impatient_moment{3};
// Calls that are further apart belong to different waits.
constexpr milliseconds end_of_wait{50};
constexpr milliseconds silent_wait{1000};
// Time without a wait for each second that it earns.
constexpr int price_of_wait = 10;

}  // namespace

std::string LockWait::limit_text() const { return text(std::chrono::duration<double>(limit_).count(), " s"); }

bool LockWait::wait_a_moment(bool is_another) {
    if (is_used_up_) return false;
    auto begin = Clock::now();
    if (is_another || begin - last_wait_ > end_of_wait) begin_wait(begin);
    std::this_thread::sleep_for(std::min(moment_, left_));
    last_wait_ = Clock::now();
    left_ -= last_wait_ - begin;
    is_used_up_ = left_ <= Clock::duration::zero();
    moment_ = std::min<Clock::duration>(moment_ * 2, longest_moment);
    if (last_wait_ - wait_began_ <= silent_wait) return !is_used_up_;
    moment_ = impatient_moment;
    log_warning(text(what_, ": another process has locked it; waiting up to ", limit_text()));
    return !is_used_up_;
}

void LockWait::begin_wait(Clock::time_point now) {
    if (last_wait_ != Clock::time_point()) {
        if (last_wait_ - wait_began_ <= silent_wait) left_ = left_before_;
        left_ = std::min(limit_, left_ + (now - last_wait_) / price_of_wait);
    }
    left_before_ = left_;
    wait_began_ = now;
    moment_ = shortest_moment;
}

}  // namespace mge
