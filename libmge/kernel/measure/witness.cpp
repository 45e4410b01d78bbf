// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/measure/witness.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>

#include "libmge/base/threads/thread_team.h"
#include "libmge/base/threads/threads.h"
#include "libmge/kernel/cpu/parallel.h"

namespace mge {
namespace {

double milliseconds(const timespec& t) { return double(t.tv_sec) * 1e3 + double(t.tv_nsec) * 1e-6; }

double read(clockid_t clock) {
    timespec t{};
    ::clock_gettime(clock, &t);
    return milliseconds(t);
}

// Each result waits for the one before: neither a second thread in the core nor wider vectors change its
// time.
void chain() {
    constexpr int rounds = 7000;
    volatile double seed = 0.5;
    double x = seed;
    for (int i = 0; i < rounds; ++i) x = x * 0.999 + 0.001;
    seed = x;
}

class SystemWitness final : public Witness {
public:
    using Witness::Witness;

    Moment now() override {
        rusage usage{};
        ::getrusage(RUSAGE_SELF, &usage);
        double wall = read(CLOCK_MONOTONIC);
        return {wall, read(CLOCK_THREAD_CPUTIME_ID), read(CLOCK_PROCESS_CPUTIME_ID), usage.ru_nivcsw};
    }
    void calibrate() override {
        par_for(threads(), threads(), 1, [](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) chain();
        });
    }
    void calibrate_alone() override {
        int together = std::max(1, std::min(team_size(threads()), usable_cpus()));
        for (int done = 0; done < threads(); done += together) chain();
    }
    void rest(double ms) override {
        auto whole = time_t(ms / 1e3);
        timespec t{whole, long((ms - double(whole) * 1e3) * 1e6)};
        ::nanosleep(&t, nullptr);
    }
};

}  // namespace

double Witness::time(void (Witness::*calibration)()) {
    double start = now().wall_ms;
    (this->*calibration)();
    return now().wall_ms - start;
}

double Witness::slowness() {
    // The first one wakes the team, when that sleeps.
    constexpr int tries = 3;
    constexpr double as_ever = 1.1;
    double least = std::numeric_limits<double>::infinity();
    if (best_ms_ == std::numeric_limits<double>::infinity()) {
        // A team takes a little longer than one alone.
        constexpr double of_team = 1.15;
        for (int i = 0; i < tries; ++i)
            best_ms_ = std::min(best_ms_, of_team * time(&Witness::calibrate_alone));
    }
    for (int i = 0; i < tries && !(least <= as_ever * best_ms_); ++i)
        least = std::min(least, time(&Witness::calibrate));
    best_ms_ = std::min(best_ms_, least);
    return best_ms_ > 0 ? least / best_ms_ : 1;
}

bool Witness::is_patient() const {
    constexpr double lost_per_useful = 4, at_first_ms = 20;
    return lost_ms_ <= lost_per_useful * useful_ms_ + at_first_ms;
}

std::unique_ptr<Witness> system_witness(int threads) { return std::make_unique<SystemWitness>(threads); }

bool is_quiet(Witness& witness) {
    // A scheduler gives a neighbour its turn after some 3 ms.
    constexpr double watched_ms = 15;
    constexpr int most = 2000;
    constexpr double slow = 1.3, slow_part = 0.1;
    witness.slowness();
    Moment start = witness.now(), now = start;
    int calibrations = 0, slow_ones = 0;
    for (; calibrations < most && now.wall_ms - start.wall_ms < watched_ms; ++calibrations) {
        slow_ones += witness.slowness() > slow;
        now = witness.now();
    }
    return now.preemptions == start.preemptions && slow_ones <= slow_part * calibrations;
}

}  // namespace mge
