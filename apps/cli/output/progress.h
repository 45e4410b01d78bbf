// SPDX-License-Identifier: Apache-2.0
#pragma once
// A progress line on stderr. It appears only on a terminal and only after a second, and disappears when the
// work ends or anything else is printed.

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "libmge/base/threads/work_observer.h"

namespace mge::cli {

// The clock of progress lines: steady, but tests can stop and set it.
class ProgressClock {
public:
    using duration = std::chrono::steady_clock::duration;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<ProgressClock>;
    static constexpr bool is_steady = true;

    static time_point now();
    static void stop();
    static void advance(duration time);  // only while stopped
    static void go_on();
};

// Progress of work in parts, with the remaining time. Only advance() draws, so that measurements in between
// are not disturbed.
class Progress {
public:
    // If total is 0, it is unknown and only the count is shown.
    Progress(std::string what, size_t total);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void advance(size_t steps = 1, const std::string& note = {});
    // Call when the amount of work changes.
    void set_total(size_t total) { total_ = total; }
    // Returns an observer that shows the library's progress instead of our parts, prefixed by `label`. It
    // must not outlive this object.
    WorkObserver observer(std::string label = {});

private:
    using Clock = ProgressClock;
    bool is_due();
    void draw(const std::string& what, size_t done, size_t total, const std::string& note, double elapsed);

    std::string what_;
    size_t total_, done_ = 0;
    bool wanted_;
    Clock::time_point start_ = Clock::now(), drawn_{};
    std::string stage_;  // reported by the observer
    Clock::time_point stage_start_{};
};

// Shows the current activity and its seconds, once a second from a thread of its own (if there is a
// terminal). For work that reports no progress. Suspended while a Progress or a Silence exists.
class Activity {
public:
    explicit Activity(std::string what);
    ~Activity();
    Activity(const Activity&) = delete;
    Activity& operator=(const Activity&) = delete;

    void now(std::string what);

private:
    struct Ticker;
    std::unique_ptr<Ticker> ticker_;
};

// Suspends every Activity while it exists, during measurements and while the user types.
class Silence {
public:
    Silence();
    ~Silence();
    Silence(const Silence&) = delete;
    Silence& operator=(const Silence&) = delete;
};

}  // namespace mge::cli
