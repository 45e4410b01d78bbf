// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/measure/contest.h"

#include <algorithm>
#include <limits>

namespace mge {
namespace {

// Candidates within this factor of the best are finalists: first after a few runs, which jitter, then after
// more.
constexpr double finalist_factor = 1.5, late_finalist_factor = 1.25;
constexpr size_t few_runs = 3;
constexpr double hopeless_factor = 4;  // this much slower than the best: not even a time
// A candidate whose first run is this far behind gets no second one. The extra cost of a first run (new
// memory and code) is a part of a millisecond.
constexpr double far_behind_factor = 1.7, far_behind_ms = 0.3;

constexpr double slow_calibration = 1.3;
// The part of a run without any of our computation; more than this is not jitter of the clocks.
constexpr double idle_part = 0.05, idle_ms = 0.02;
// The clock of a process includes its other threads as of the scheduler's last tick.
constexpr double tick_ms = 4;

// A time is trusted when so many undisturbed runs agree with the fastest; times of some microseconds jitter
// by themselves, so many undisturbed ones are enough however they differ.
constexpr size_t runs_that_agree = 3, least_runs = 5, enough_runs = 10;
// A candidate without rivals has won: its time is only needed for sums.
constexpr size_t least_unrivalled = 3, enough_unrivalled = 4;
constexpr double agreeing_unrivalled = 1.1;
constexpr double agreeing_factor = 1.05, agreeing_ms = 0.0015;

constexpr int most_tries = 6;               // for one run that is not disturbed
constexpr int impatient_rounds = 3;         // on a machine that is always busy
constexpr double tried_ms = 2;              // this much may be spent for each problem, regardless of earlier
                                            // loss
constexpr int most_rounds = 28;             // four times those on a quiet machine
constexpr double most_milliseconds = 1500;  // for a problem, unless the least runs take longer
constexpr double rest_ms = 1;

struct Run {
    double milliseconds = 0;
    bool was_interrupted = false;
    double slowness = 1;     // the worse of the calibrations on both sides
    double computed_ms = 0;  // by each thread, at least
    bool is_disturbed() const { return was_interrupted || slowness > slow_calibration; }
    // Without the disturbance.
    double least_possible() const { return computed_ms / std::max(slowness, 1.0); }
};

class Contestant {
public:
    void add(const Run& run, bool counts) {
        least_ = std::min(least_, run.milliseconds);
        if (counts) clean_.push_back(run.milliseconds);
    }
    bool has_run() const { return least_ < std::numeric_limits<double>::infinity(); }
    bool was_ever_undisturbed() const { return !clean_.empty(); }
    double least() const { return clean_.empty() ? least_ : *std::ranges::min_element(clean_); }
    size_t undisturbed() const { return clean_.size(); }
    bool is_settled(bool has_rivals) const {
        size_t runs = clean_.size();
        if (runs >= enough_runs) return true;
        if (has_rivals) return runs >= least_runs && those_within(agreeing_factor) >= runs_that_agree;
        return runs >= enough_unrivalled ||
               (runs >= least_unrivalled && those_within(agreeing_unrivalled) > 1);
    }
    // The lower quartile: unnoticed disturbances only slow runs down, too.
    double typical() const {
        if (clean_.empty()) return least_;
        auto sorted = clean_;
        auto quarter = sorted.begin() + std::ptrdiff_t(sorted.size() / 4);
        std::ranges::nth_element(sorted, quarter);
        return *quarter;
    }

private:
    size_t those_within(double factor) const {
        double limit = least() * factor + agreeing_ms;
        return size_t(std::ranges::count_if(clean_, [&](double ms) { return ms <= limit; }));
    }

    std::vector<double> clean_;
    double least_ = std::numeric_limits<double>::infinity();
};

class Contest {
public:
    Contest(const Entrants& entrants, Witness& witness)
        : entrants_(entrants), witness_(witness), contestants_(entrants.count), is_out_(entrants.count) {
        start_ms_ = witness_.now().wall_ms;
        lost_before_ms_ = witness_.lost_ms();
        last_slowness_ = witness_.slowness();
    }

    std::vector<std::optional<ContestResult>> hold() {
        size_t count = contestants_.size(), turns = entrants_.one_by_one ? 1 : count;
        for (size_t i = 0; i < count; i += turns) {
            qualify(i, i + turns);
            finals(i, i + turns);
        }
        // A candidate whose every run was disturbed may be the best.
        bool is_unclear = false;
        for (size_t i = 0; i < contestants_.size(); ++i)
            is_unclear |= !is_out_[i] && !contestants_[i].was_ever_undisturbed();
        std::vector<std::optional<ContestResult>> results;
        for (size_t i = 0; i < contestants_.size(); ++i) {
            auto& c = contestants_[i];
            if (is_out_[i])
                results.emplace_back();
            else
                results.push_back(
                    ContestResult{c.typical(), is_unclear || (is_finalist(i) && !is_settled(i))});
        }
        return results;
    }

private:
    double best() const {
        double best = std::numeric_limits<double>::infinity();
        for (size_t i = 0; i < contestants_.size(); ++i)
            if (!is_out_[i]) best = std::min(best, contestants_[i].least());
        return best;
    }
    bool is_finalist(size_t i) const {
        auto& c = contestants_[i];
        double factor = c.undisturbed() < few_runs ? finalist_factor : late_finalist_factor;
        return c.has_run() && !is_out_[i] && c.least() <= factor * best();
    }
    bool is_settled(size_t i) const {
        // The remaining candidates might be rivals.
        bool has_rivals = entrants_.one_by_one && contestants_.size() > 1;
        for (size_t j = 0; j < contestants_.size(); ++j) has_rivals |= j != i && is_finalist(j);
        return contestants_[i].is_settled(has_rivals);
    }

    bool is_patient() const {
        return witness_.is_patient() || witness_.lost_ms() - lost_before_ms_ < tried_ms;
    }

    // Without patience there is no calibration: then no run counts as undisturbed.
    double slowness() const {
        return is_patient() ? witness_.slowness() : std::numeric_limits<double>::infinity();
    }

    Run time(size_t i) {
        double begin = witness_.now().wall_ms;
        entrants_.ready(i);
        Moment start = witness_.now();
        entrants_.run(i);
        Moment end = witness_.now();
        double before = last_slowness_;
        last_slowness_ = slowness();
        if (auto own = entrants_.own_milliseconds ? entrants_.own_milliseconds() : std::nullopt) {
            witness_.spend(end.wall_ms - begin, false);
            return {.milliseconds = *own};
        }
        double wall = end.wall_ms - start.wall_ms;
        double computed = witness_.threads() == 1 ? end.own_cpu_ms - start.own_cpu_ms
                                                  : end.process_cpu_ms - start.process_cpu_ms;
        // A thread of a team may be idle, but must not be preempted. A run of many milliseconds nearly always
        // is, mostly for microseconds.
        bool is_team = witness_.threads() > 1;
        double by_each = computed / witness_.threads(), error = is_team ? tick_ms : 0;
        bool was_preempted = end.preemptions > start.preemptions, is_known = wall > 2 * error;
        bool was_interrupted = wall - (was_preempted ? by_each : computed) > idle_part * wall + idle_ms ||
                               (was_preempted && !is_known);
        Run run{wall, was_interrupted, std::max(before, last_slowness_), by_each - error};
        witness_.spend(witness_.now().wall_ms - begin, run.is_disturbed());
        return run;
    }

    // A process that has rested gets more time from the scheduler.
    void rest() {
        witness_.rest(rest_ms);
        witness_.spend(rest_ms, true);
    }

    // A disturbed run counts, too, if the candidate is too slow for the finals anyway.
    bool take(size_t i) {
        Run run = time(i);
        bool counts = !run.is_disturbed() || run.least_possible() > finalist_factor * best();
        contestants_[i].add(run, counts);
        return counts;
    }

    void time_undisturbed(size_t i) {
        for (int tries = 0; tries < most_tries; ++tries) {
            if (take(i) || !is_patient()) return;
            rest();
        }
    }

    bool is_far_behind(size_t i) const {
        return contestants_[i].was_ever_undisturbed() &&
               contestants_[i].least() > far_behind_factor * best() + far_behind_ms;
    }

    // Candidates from `begin` to `end` run twice, in turns.
    void qualify(size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) time_undisturbed(i);
        for (size_t i = begin; i < end; ++i)
            if (!is_far_behind(i)) time_undisturbed(i);
        for (size_t i = 0; i < end; ++i)
            is_out_[i] = is_out_[i] || (contestants_[i].was_ever_undisturbed() &&
                                        contestants_[i].least() > hopeless_factor * best());
    }

    void finals(size_t begin, size_t end) {
        for (int round = 0; round < most_rounds; ++round) {
            bool is_late = witness_.now().wall_ms - start_ms_ > most_milliseconds;
            if (is_late && round >= int(least_runs)) return;
            if (!is_patient() && round >= impatient_rounds) return;
            bool is_over = true;
            for (size_t i = begin; i < end; ++i) {
                if (!is_finalist(i) || is_settled(i)) continue;
                is_over = false;
                if (!take(i) && is_patient()) rest();
            }
            if (is_over) return;
        }
    }

    const Entrants& entrants_;
    Witness& witness_;
    std::vector<Contestant> contestants_;
    std::vector<bool> is_out_;
    double start_ms_ = 0, lost_before_ms_ = 0, last_slowness_ = 1;
};

}  // namespace

std::vector<std::optional<ContestResult>> contest(const Entrants& entrants, Witness& witness) {
    return Contest(entrants, witness).hold();
}

}  // namespace mge
