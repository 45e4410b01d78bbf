// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times several alternatives side by side, on a machine where other work may run, too. They run in turns, so
// that a disturbance affects all alike. A run is disturbed if a thread of ours was preempted or did not get
// its CPU during it, or if a calibration next to it was slow: it is repeated after a short rest, within
// limits. A time is trusted if enough undisturbed runs agree.

#include <functional>
#include <optional>
#include <vector>

#include "libmge/kernel/measure/witness.h"

namespace mge {

struct Entrants {
    size_t count = 0;
    // They cannot all be ready at once: each runs completely before the next one. Disturbances must be
    // detected then, because they do not affect all alike.
    bool one_by_one = false;
    std::function<void(size_t)> ready;  // before each run, not timed
    std::function<void(size_t)> run;
    // Duration of the last run by the clock of an asynchronous device, which is not affected by disturbances
    // of the host; empty, or nullopt: use the witness's clocks.
    std::function<std::optional<double>()> own_milliseconds = {};
};

struct ContestResult {
    double milliseconds = 0;
    bool is_doubtful = false;
};

// By entrant; nullopt for candidates far behind the best.
std::vector<std::optional<ContestResult>> contest(const Entrants& entrants, Witness& witness);

}  // namespace mge
