// SPDX-License-Identifier: Apache-2.0
#pragma once
// One line on stderr that says how far a longer piece of work is. It appears only on a terminal, only after a
// second, and is gone when the work is done or anything else is printed.

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "libmge/base/threads/work_observer.h"

namespace mge::cli {

// The time as progress takes it: steady, unless a test stops it and moves it itself.
class ProgressClock {
public:
    using duration = std::chrono::steady_clock::duration;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<ProgressClock>;
    static constexpr bool is_steady = true;

    static time_point now();
    static void stop();
    static void advance(duration time);  // while it is stopped
    static void go_on();
};

// Work in parts, with the time left. Drawn by advance() alone, so that nothing disturbs a measurement
// between.
class Progress {
public:
    // total 0: not known, the count alone is shown.
    Progress(std::string what, size_t total);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void advance(size_t steps = 1, const std::string& note = {});
    // The work turned out larger or smaller.
    void set_total(size_t total) { total_ = total; }
    // What the library tells of its work, in the place of our own parts; `label` stands in front. It must not
    // outlive this.
    WorkObserver observer(std::string label = {});

private:
    using Clock = ProgressClock;
    bool is_due();
    void draw(const std::string& what, size_t done, size_t total, const std::string& note, double elapsed);

    std::string what_;
    size_t total_, done_ = 0;
    bool wanted_;
    Clock::time_point start_ = Clock::now(), drawn_{};
    std::string stage_;  // of the observer
    Clock::time_point stage_start_{};
};

// What a tool is busy with, for work that tells nothing by itself: the words and the seconds since they were
// said, once a second, by a thread of its own (none where there is no terminal). Silent while a Progress or a
// Silence exists.
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

// While it exists no Activity draws: something is being measured, or the user is typing.
class Silence {
public:
    Silence();
    ~Silence();
    Silence(const Silence&) = delete;
    Silence& operator=(const Silence&) = delete;
};

}  // namespace mge::cli
