// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <limits>
#include <memory>

namespace mge {

// The clocks, read at once.
struct Moment {
    double wall_ms = 0;
    double own_cpu_ms = 0;      // of this thread
    double process_cpu_ms = 0;  // of all threads
    int64_t preemptions = 0;    // how often one of the process's threads had to leave its CPU to others
};

// Tells whether something else ran on the machine while something was timed. A test has its own.
class Witness {
public:
    explicit Witness(int threads) : threads_(threads) {}
    virtual ~Witness() = default;
    virtual Moment now() = 0;
    // Always the same work, on all threads, for some 20 µs: takes longer when they do not get their CPUs for
    // themselves, or do not even try because the team is narrow beside neighbours.
    virtual void calibrate() = 0;
    // What one thread takes alone for what calibrate() should take.
    virtual void calibrate_alone() = 0;
    virtual void rest(double milliseconds) = 0;

    int threads() const { return threads_; }
    // How long calibrate() takes now, as a multiple of its best time so far.
    double slowness();

    // What measuring has taken so far: runs that count, and those that were disturbed, with the rests after
    // them. On a machine that is busy for good there has to be an end of repeating: a search then takes some
    // times as long as on a quiet one, and not more.
    void spend(double milliseconds, bool is_lost) { (is_lost ? lost_ms_ : useful_ms_) += milliseconds; }
    double lost_ms() const { return lost_ms_; }
    bool is_patient() const;

private:
    int threads_;
    double time(void (Witness::*calibration)());

    double useful_ms_ = 0, lost_ms_ = 0;
    double best_ms_ = std::numeric_limits<double>::infinity();
};

// Of this process and machine.
std::unique_ptr<Witness> system_witness(int threads);

// Nothing disturbs us for as long as a scheduler would let others wait.
bool is_quiet(Witness& witness);

}  // namespace mge
