// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/progress.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "apps/cli/terminal.h"
#include "libmge/base/error.h"
#include "libmge/base/start_thread.h"

namespace mge::cli {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds quiet_time = 1s, redraw_time = 100ms;

// Of all activities and silences, of which there are few.
std::mutex mutex;
std::condition_variable changed;
int silences = 0;

void add_silences(int count) {
    {
        std::lock_guard lock(mutex);
        silences += count;
    }
    changed.notify_all();
}

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

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
    Clock::time_point start = Clock::now();
    bool ends = false;
    std::thread thread;

    void tick() {
        std::unique_lock lock(mutex);
        while (!ends) {
            // Sleeps through what is being measured.
            changed.wait(lock, [&] { return silences == 0 || ends; });
            changed.wait_for(lock, quiet_time, [&] { return silences > 0 || ends; });
            double seconds = seconds_since(start);
            if (!ends && silences == 0 && is_at_line_start() && seconds >= 1)
                show_line(text(what, ", ", int64_t(seconds), " s"));
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
    ticker_->start = Clock::now();
    erase_line();
}

}  // namespace mge::cli
