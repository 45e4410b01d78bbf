// SPDX-License-Identifier: Apache-2.0
#pragma once
// Times several ways to do the same beside each other, on a machine where other work may run, too. All take
// their runs in turns, so that what disturbs one disturbs all alike. A run during which a thread of ours was
// preempted or did not get its CPU, or beside which a calibration was slow, is disturbed: it is repeated
// after a short rest, within bounds. A time is trusted when enough undisturbed runs agree.

#include <functional>
#include <optional>
#include <vector>

#include "libmge/kernel/witness.h"

namespace mge {

struct Entrants {
    size_t count = 0;
    // They cannot all be ready at once: each takes all of its runs before the next one's. Then what disturbs
    // one has to be noticed, since it does not disturb the others alike.
    bool one_by_one = false;
    std::function<void(size_t)> ready;  // before each run, not timed
    std::function<void(size_t)> run;
    // What the last run took by the clock of a device that works beside the host, which then disturbs
    // nobody; empty, or nullopt: the witness's clocks tell.
    std::function<std::optional<double>()> own_milliseconds = {};
};

struct ContestResult {
    double milliseconds = 0;
    bool is_doubtful = false;
};

// By entrant; nullopt for those that are hopeless beside the best.
std::vector<std::optional<ContestResult>> contest(const Entrants& entrants, Witness& witness);

}  // namespace mge
