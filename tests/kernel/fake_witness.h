// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>

#include "libmge/kernel/measure/witness.h"

namespace mge {

// A machine whose time passes only on request, with given disturbances.
class FakeWitness final : public Witness {
public:
    static constexpr double calibration_ms = 0.01;
    enum class Kind { none, preempted, waits, slow };
    struct Disturbance {
        Kind kind = Kind::none;
        double milliseconds = 0;
    };

    using Witness::Witness;

    // The disturbance during work of so many milliseconds.
    std::function<Disturbance(double)> disturb = [](double) { return Disturbance(); };
    int rests = 0;

    Moment now() override { return now_; }
    void calibrate() override { compute(calibration_ms); }
    void calibrate_alone() override { add(calibration_ms); }
    void rest(double milliseconds) override {
        ++rests;
        pass(milliseconds);
    }

    // Time without computation of this process.
    void pass(double milliseconds) { now_.wall_ms += milliseconds; }
    void compute(double milliseconds) {
        auto [kind, more] = disturb(milliseconds);
        add(milliseconds);
        if (kind == Kind::preempted) {
            ++now_.preemptions;
            pass(more);
        } else if (kind == Kind::waits) {
            pass(more);
        } else if (kind == Kind::slow) {  // a neighbour in the same core
            add(more);
        }
    }

private:
    void add(double milliseconds) {
        now_.wall_ms += milliseconds;
        now_.own_cpu_ms += milliseconds;
        now_.process_cpu_ms += milliseconds * threads();
    }

    Moment now_;
};

}  // namespace mge
