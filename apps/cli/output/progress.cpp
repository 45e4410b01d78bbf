// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/output/progress.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "apps/cli/output/terminal.h"
#include "libmge/base/error.h"
#include "libmge/base/threads/start_thread.h"

namespace mge::cli {
namespace {

using namespace std::chrono_literals;
using Clock = ProgressClock;

constexpr std::chrono::milliseconds quiet_time = 1s, redraw_time = 100ms;

// Shared by all activities and silences, of which there are few, and the test clock.
std::mutex mutex;
std::condition_variable changed;
int silences = 0;
Clock::time_point last_silence{};  // when the last Silence ended

// The time of a stopped clock, and the lead over the system's clock of a running one.
constexpr auto running = Clock::duration::min();
std::atomic<Clock::duration> stopped_at{running}, ahead{};

Clock::duration system_time() { return std::chrono::steady_clock::now().time_since_epoch(); }

void set_clock(Clock::duration time) {
    {
        std::lock_guard lock(mutex);
        stopped_at = time;
    }
    changed.notify_all();
}

void add_silences(int count) {
    {
        std::lock_guard lock(mutex);
        silences += count;
        if (silences == 0) last_silence = Clock::now();
    }
    changed.notify_all();
}

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

Clock::time_point ProgressClock::now() {
    duration stopped = stopped_at;
    return time_point(stopped == running ? system_time() + ahead.load() : stopped);
}

void ProgressClock::stop() { set_clock(now().time_since_epoch()); }
void ProgressClock::advance(duration time) { set_clock(now().time_since_epoch() + time); }
void ProgressClock::go_on() {
    ahead = now().time_since_epoch() - system_time();
    set_clock(running);
}

Silence::Silence() {
    add_silences(1);
    erase_line();
}

Silence::~Silence() { add_silences(-1); }

Progress::Progress(std::string what, size_t total)
    : what_(std::move(what)), total_(total), wanted_(shows_progress()) {
    add_silences(1);
}

Progress::~Progress() {
    erase_line();
    add_silences(-1);
}

bool Progress::is_due() {
    auto now = Clock::now();
    if (!wanted_ || now - start_ < quiet_time || now - drawn_ < redraw_time) return false;
    drawn_ = now;
    return true;
}

void Progress::draw(const std::string& what, size_t done, size_t total, const std::string& note,
                    double elapsed) {
    std::string line = text(what, ' ', done);
    if (total) {
        double left = done ? elapsed / double(done) * double(total - std::min(done, total)) : 0;
        line += text('/', total, " (", 100 * done / total, " %");
        line += done ? text(", ", int64_t(left + 0.5), " s left)") : ")";
    }
    if (!note.empty()) line += " " + note;
    show_line(line);
}

void Progress::advance(size_t steps, const std::string& note) {
    done_ += steps;
    if (is_due()) draw(what_, done_, total_, note, seconds_since(start_));
}

WorkObserver Progress::observer(std::string label) {
    if (!wanted_) return {};
    return [this, label = std::move(label)](const WorkDone& work) {
        if (work.what != stage_) {
            stage_ = work.what;
            stage_start_ = Clock::now();
        }
        if (!is_due()) return;
        std::string what = label.empty() ? stage_ : text(label, ": ", stage_);
        draw(what, work.done, work.total, std::string(work.part), seconds_since(stage_start_));
    };
}

struct Activity::Ticker {
    std::string what;
    Clock::time_point start = Clock::now(), quiet_from = start;
    bool ends = false;
    std::thread thread;

    Clock::time_point due() const { return std::max(quiet_from, last_silence) + quiet_time; }

    void tick() {
        std::unique_lock lock(mutex);
        while (!ends) {
            // Sleep during measurements.
            changed.wait(lock, [&] { return silences == 0 || ends; });
            if (changed.wait_until(lock, due(), [&] { return silences > 0 || ends; })) continue;
            if (Clock::now() < due()) continue;  // now() was called meanwhile
            quiet_from = Clock::now();
            if (is_at_line_start()) show_line(text(what, ", ", int64_t(seconds_since(start)), " s"));
        }
    }
};

Activity::Activity(std::string what) {
    if (!shows_progress()) return;
    ticker_ = std::make_unique<Ticker>();
    ticker_->what = std::move(what);
    ticker_->thread = start_thread([ticker = ticker_.get()] { ticker->tick(); });
}

Activity::~Activity() {
    if (!ticker_) return;
    {
        std::lock_guard lock(mutex);
        ticker_->ends = true;
    }
    changed.notify_all();
    ticker_->thread.join();
    erase_line();
}

void Activity::now(std::string what) {
    if (!ticker_) return;
    std::lock_guard lock(mutex);
    ticker_->what = std::move(what);
    ticker_->start = ticker_->quiet_from = Clock::now();
    erase_line();
}

}  // namespace mge::cli
