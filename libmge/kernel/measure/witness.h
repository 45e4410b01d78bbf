// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <limits>
#include <memory>

namespace mge {

// All clocks at one moment.
struct Moment {
    double wall_ms = 0;
    double own_cpu_ms = 0;      // time of this thread
    double process_cpu_ms = 0;  // time of all threads
    int64_t preemptions = 0;    // how often one of the process's threads had to leave its CPU to others
};

// Detects whether other work ran on the machine during a measurement. Tests have their own.
class Witness {
public:
    explicit Witness(int threads) : threads_(threads) {}
    virtual ~Witness() = default;
    virtual Moment now() = 0;
    // Always the same work, on all threads, for some 20 µs: takes longer when they do not get their CPUs for
    // themselves, or do not even try because the team is narrow beside neighbours.
    virtual void calibrate() = 0;
    // Duration of the work of calibrate() on a single thread.
    virtual void calibrate_alone() = 0;
    virtual void rest(double milliseconds) = 0;

    int threads() const { return threads_; }
    // The current duration of calibrate(), as a multiple of its best time so far.
    double slowness();

    // The time spent on measurements so far: on runs that count, and on disturbed ones with the rests after
    // them. On a permanently busy machine repetitions must end: a search then takes some times as long as on
    // a quiet one, but not more.
    void spend(double milliseconds, bool is_lost) { (is_lost ? lost_ms_ : useful_ms_) += milliseconds; }
    double lost_ms() const { return lost_ms_; }
    bool is_patient() const;

private:
    int threads_;
    double time(void (Witness::*calibration)());

    double useful_ms_ = 0, lost_ms_ = 0;
    double best_ms_ = std::numeric_limits<double>::infinity();
};

// For this process and machine.
std::unique_ptr<Witness> system_witness(int threads);

// Nothing disturbs this process for as long as a scheduler would let others wait.
bool is_quiet(Witness& witness);

}  // namespace mge
