// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/threads/own_team.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "libmge/base/threads/leave_cpu.h"
#include "libmge/base/threads/start_thread.h"
#include "libmge/base/threads/team_place.h"
#include "libmge/base/threads/threads.h"

namespace mge {
namespace {

// In microseconds. The gaps between the regions of a net are tens of microseconds; waking a thread costs
// about ten.
constexpr Ticks spin_for_work = 300;
constexpr Ticks spin_for_members = 50;
// Interrupts take less, a time slice takes milliseconds.
constexpr Ticks gap_of_lost_cpu = 200;
// A member that is awake begins within one, a woken one within some tens.
constexpr Ticks late = 150;
// Within the time of calm below.
constexpr int taken_often = 3;
constexpr TeamWidth::Pauses pauses{.shortest = 2'000, .longest = 512'000, .calm = 20'000};
// Two threads that take care lose little, so they do it until somebody has looked whether they wait for CPUs.
constexpr Ticks shortest_care = 20'000;
constexpr Ticks between_looks = 10'000;
// The caller shares its CPU: a neighbour takes half of it, threads of the system some hundredths.
constexpr double much_waiting = 0.2;
// The time that a member needs to start, and that its share may exceed the estimate.
constexpr Ticks before_tick = 50;
// Shares of late are about so many.
constexpr double shares_of_late = 100;

// Signals are for the threads of the program.
class SignalsBlocked {
public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        // Signals raised by a thread's own work: if blocked, they would end the process without a handler.
        for (int own : {SIGBUS, SIGFPE, SIGILL, SIGSEGV}) sigdelset(&all, own);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;

private:
    sigset_t before_;
};

}  // namespace

OwnTeam::OwnTeam(int threads)
    : width_policy_(threads, quota_cpus(),
                    {(threads == 2 ? shortest_care : pauses.shortest) * microsecond_,
                     pauses.longest * microsecond_, pauses.calm * microsecond_}) {
    for (int i = 0; i < threads; ++i) members_.push_back(std::make_unique<Member>());
    SignalsBlocked scope;
    try {
        for (int i = 1; i < threads; ++i) members_[size_t(i)]->thread = start_thread([this, i] { work(i); });
        name_threads();
    } catch (...) {
        finish();
        throw;
    }
}

// Waits until each member has registered with the system's counters.
void OwnTeam::name_threads() {
    std::vector<pid_t> names{::gettid()};
    for (int i = 1; i < threads(); ++i) {
        auto& name = members_[size_t(i)]->thread_id;
        name.wait(0);
        names.push_back(name);
    }
    run_delay_.set_threads(std::move(names));
    run_delay_.was_long(ticks_now());
}

OwnTeam::~OwnTeam() { finish(); }

void OwnTeam::finish() {
    is_ending_.store(true);
    for (int i = 1; i < threads(); ++i) {
        wake_member(i);
        if (members_[size_t(i)]->thread.joinable()) members_[size_t(i)]->thread.join();
    }
}

void OwnTeam::run(int shares, Share fn, void* argument, Waiting waiting) {
    Ticks begin = ticks_now();
    int width = choose_width(begin);
    if (waiting == Waiting::for_each_other) width = threads();
    fn_ = fn;
    argument_ = argument;
    pending_.store(uint32_t(shares), std::memory_order_relaxed);
    if (width != width_.load(std::memory_order_relaxed)) [[unlikely]]
        width_.store(width, std::memory_order_relaxed);
    if (int cpu = ::sched_getcpu(); cpu != callers_cpu_.load(std::memory_order_relaxed)) [[unlikely]]
        callers_cpu_.store(cpu, std::memory_order_relaxed);
    Region number = (region_.load(std::memory_order_relaxed) >> bits_for_shares) + 1;
    Region region = number << bits_for_shares | Region(shares);
    members_[0]->claimed.store(region, std::memory_order_relaxed);
    if (waiting == Waiting::for_each_other) needs_all_.store(region, std::memory_order_relaxed);
    // Before checking for sleepers; a member announces its sleep before it checks the region.
    region_.store(region, std::memory_order_seq_cst);
    bool may_wake = waiting == Waiting::for_each_other || !should_stay_idle();
    for (int i = 1; may_wake && i < std::min(width, shares); ++i) {
        auto& is_asleep = members_[size_t(i)]->is_asleep;
        // Once: it may have to wait for a CPU.
        if (is_asleep.load(std::memory_order_seq_cst) && is_asleep.exchange(false, std::memory_order_seq_cst))
            wake_member(i);
    }
    do_share(region, 0);
    Ticks own_share = ticks_now() - begin;
    note_share(own_share);
    if (pending_.load(std::memory_order_acquire) != 0) {
        if (width > 1 && !takes_care_ && is_absent(region, begin))
            has_lost_cpu_.store(true, std::memory_order_relaxed);
        take_shares(region, 1);
        await_shares(own_share);
    }
    if (has_lost_cpu_.load(std::memory_order_relaxed)) [[unlikely]]
        lose_cpu();
}

int OwnTeam::choose_width(Ticks now) {
    if (kept_width_) return kept_width_;
    if (width_policy_.is_narrow()) [[unlikely]]
        if (auto idle = idle_cpus_.look(now)) width_policy_.find_idle(*idle, now);
    int width = width_policy_.at(now);
    bool is_alone = width == 1 && width_policy_.is_narrow();
    if (is_alone || takes_care_) [[unlikely]]
        is_alone ? take_care(now) : stop_taking_care();
    return is_alone ? 2 : width;
}

void OwnTeam::take_care(Ticks now) {
    share_length_.store(lengths_ > 0 ? Ticks(square_lengths_ / lengths_) : 0, std::memory_order_relaxed);
    if (takes_care_ && now - looked_ < between_looks * microsecond_) return;
    if (takes_care_ && run_delay_.was_long(now)) width_policy_.lose_cpu(now);
    takes_care_ = true;
    looked_ = now;
    minds_ticks_.store(run_delay_.of_first() < much_waiting, std::memory_order_relaxed);
}

void OwnTeam::stop_taking_care() {
    takes_care_ = false;
    minds_ticks_.store(false, std::memory_order_relaxed);
}

void OwnTeam::note_share(Ticks length) {
    double counted = double(std::min(length, tick_period_));  // no longer than that without losing its CPU
    constexpr double kept = 1 - 1 / shares_of_late;
    square_lengths_ = kept * square_lengths_ + counted * counted;
    lengths_ = kept * lengths_ + counted;
}

bool OwnTeam::should_stay_idle() const {
    if (!minds_ticks_.load(std::memory_order_relaxed)) return false;
    if (keeps_idle_.load(std::memory_order_relaxed)) return true;
    return has_system_ticks() &&
           until_system_tick() < share_length_.load(std::memory_order_relaxed) + before_tick * microsecond_;
}

void OwnTeam::keep_members_idle() {
    keeps_idle_.store(true);
    minds_ticks_.store(true);
}

void OwnTeam::lose_cpu() {
    has_lost_cpu_.store(false, std::memory_order_relaxed);
    bool has_taken_cpu = has_taken_cpu_.exchange(false, std::memory_order_relaxed);
    if (takes_care_) return;
    Ticks now = ticks_now();
    if (!(has_taken_cpu ? has_taken_often(now) : run_delay_.was_long(now))) return;
    if (!width_policy_.is_narrow()) idle_cpus_.start(now);
    width_policy_.lose_cpu(now);
    times_taken_ = 0;
}

// A single event is not significant: threads that were just woken may share a CPU until the scheduler has
// separated them.
bool OwnTeam::has_taken_often(Ticks now) {
    if (now - taken_since_ > pauses.calm * microsecond_) {
        taken_since_ = now;
        times_taken_ = 0;
    }
    return ++times_taken_ >= taken_often;
}

// A member has not begun its share in time.
bool OwnTeam::is_absent(Region region, Ticks begin) const {
    if (ticks_now() - begin < late * microsecond_) return false;
    int shares = shares_of(region);
    for (int i = 1; i < std::min(width_.load(std::memory_order_relaxed), shares); ++i)
        if (members_[size_t(i)]->claimed.load(std::memory_order_relaxed) != region) return true;
    return false;
}

void OwnTeam::await_shares(Ticks own_share) {
    auto is_done = [&] { return pending_.load(std::memory_order_acquire) == 0; };
    // Equal shares end together; a member that waits longer than its own share took yields its CPU.
    Ticks patience = std::max(own_share, spin_for_members * microsecond_);
    auto spin = spin_until(is_done, patience, gap_of_lost_cpu * microsecond_);
    if (spin.lost_cpu) has_lost_cpu_.store(true, std::memory_order_relaxed);
    if (spin.is_ready) return;
    Ticks asleep_since = ticks_now();
    is_caller_asleep_.store(true, std::memory_order_seq_cst);
    while (uint32_t left = pending_.load(std::memory_order_seq_cst)) sleep_while(pending_, left);
    is_caller_asleep_.store(false, std::memory_order_relaxed);
    if (ticks_now() - asleep_since > own_share + gap_of_lost_cpu * microsecond_)
        has_lost_cpu_.store(true, std::memory_order_relaxed);
}

void OwnTeam::do_share(Region region, int share) {
    int shares = shares_of(region);
    {
        PlaceInTeam place(this, share, shares);
        fn_(argument_, share, shares);
    }
    if (pending_.fetch_sub(1, std::memory_order_seq_cst) == 1 &&
        is_caller_asleep_.load(std::memory_order_seq_cst))
        wake(pending_, 1);
}

bool OwnTeam::claim(Region region, int share) {
    auto& claimed = members_[size_t(share)]->claimed;
    Region last = claimed.load(std::memory_order_relaxed);
    while (last < region)
        if (claimed.compare_exchange_weak(last, region, std::memory_order_acq_rel)) return true;
    return false;
}

void OwnTeam::take_shares(Region region, int first) {
    int shares = shares_of(region);
    for (int i = 0; i < shares; ++i)
        if (int share = (first + i) % shares; claim(region, share)) do_share(region, share);
}

bool OwnTeam::has_work(int member, const Seen& seen) const {
    Region region = region_.load(std::memory_order_seq_cst);
    if (is_ending_.load(std::memory_order_relaxed)) return true;
    if (region == seen.done) return false;
    return (member < width_.load(std::memory_order_relaxed) && region != seen.aside) ||
           needs_all_.load(std::memory_order_seq_cst) == region;
}

void OwnTeam::work(int member) {
    members_[size_t(member)]->thread_id = ::gettid();
    members_[size_t(member)]->thread_id.notify_one();
    for (Seen seen;;) {
        await_work(member, seen);
        if (is_ending_.load(std::memory_order_relaxed)) return;
        Region region = region_.load(std::memory_order_acquire);
        bool is_free = needs_all_.load(std::memory_order_seq_cst) != region;
        if (is_free && minds_ticks_.load(std::memory_order_relaxed) && !has_system_ticks())
            watch_system_ticks();
        if (is_free && should_stay_idle()) {
            seen.aside = region;
            continue;
        }
        seen.done = region;
        take_shares(region, member);
    }
}

// The scheduler put this member on the caller's CPU, because no other was free or it did not look for one:
// the caller cannot continue until it gets the CPU back.
bool OwnTeam::has_callers_cpu() const {
    return callers_cpu_.load(std::memory_order_relaxed) == ::sched_getcpu();
}

// A thread is woken on its previous CPU, so one that stays there would return with each region.
bool OwnTeam::leave_callers_cpu() { return leave_cpu(callers_cpu_.load(std::memory_order_relaxed)); }

void OwnTeam::await_work(int member, const Seen& seen) {
    auto is_ready = [&] { return has_work(member, seen); };
    auto is_to_stop = [&] { return is_ready() || has_callers_cpu() || should_stay_idle(); };
    for (bool has_left = true; has_left;) {
        auto spin = spin_until(is_to_stop, spin_for_work * microsecond_, gap_of_lost_cpu * microsecond_);
        bool was_there = has_callers_cpu();
        has_left = was_there && leave_callers_cpu();
        bool has_taken = was_there && !has_left && !is_ready();
        if (has_taken) has_taken_cpu_.store(true, std::memory_order_relaxed);
        if (has_taken || spin.lost_cpu) has_lost_cpu_.store(true, std::memory_order_relaxed);
    }
    if (is_ready()) return;
    sleep_until_work(member, seen);
    if (has_callers_cpu()) leave_callers_cpu();
}

void OwnTeam::sleep_until_work(int member, const Seen& seen) {
    Member& me = *members_[size_t(member)];
    for (;;) {
        uint32_t wake_ups = me.wake_ups.load(std::memory_order_seq_cst);
        me.is_asleep.store(true, std::memory_order_seq_cst);
        if (has_work(member, seen)) break;
        sleep_while(me.wake_ups, wake_ups);
    }
    me.is_asleep.store(false, std::memory_order_relaxed);
}

void OwnTeam::wake_member(int member) {
    Member& other = *members_[size_t(member)];
    other.wake_ups.fetch_add(1, std::memory_order_seq_cst);
    wake(other.wake_ups, 1);
}

void OwnTeam::meet(int shares) {
    uint32_t meeting = meetings_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == uint32_t(shares)) {
        arrived_.store(0, std::memory_order_relaxed);
        meetings_.fetch_add(1, std::memory_order_seq_cst);
        if (asleep_in_meeting_.load(std::memory_order_seq_cst)) wake(meetings_, shares);
        return;
    }
    // A share that has not been started is started by a member that sleeps or is aside.
    Region region = region_.load(std::memory_order_relaxed);
    if (needs_all_.exchange(region, std::memory_order_seq_cst) != region)
        for (int i = 1; i < shares; ++i) wake_member(i);
    auto have_all_arrived = [&] { return meetings_.load(std::memory_order_seq_cst) != meeting; };
    auto spin = spin_until(have_all_arrived, spin_for_members * microsecond_, gap_of_lost_cpu * microsecond_);
    if (spin.lost_cpu) has_lost_cpu_.store(true, std::memory_order_relaxed);
    if (spin.is_ready) return;
    asleep_in_meeting_.fetch_add(1, std::memory_order_seq_cst);
    while (!have_all_arrived()) sleep_while(meetings_, meeting);
    asleep_in_meeting_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace mge
