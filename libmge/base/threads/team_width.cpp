// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/threads/team_width.h"

#include <algorithm>

#include "libmge/base/numbers/ceil_div.h"

namespace mge {

TeamWidth::TeamWidth(int threads, int widest, Pauses pauses) : pauses_(pauses), pause_(pauses.shortest) {
    for (int rounds = 1; rounds <= threads; ++rounds) {
        int width = ceil_div(threads, rounds);
        if (width <= widest && (widths_.empty() || width < widths_.back())) widths_.push_back(width);
    }
}

void TeamWidth::lose_cpu(Ticks now) {
    if (step_ + 1 == widths_.size()) {
        narrowed_ = now;  // even one thread shares its CPU: no time to try more of them
        return;
    }
    bool is_still_crowded = widened_ != 0 && now - widened_ < std::max(pause_, pauses_.calm);
    pause_ = is_still_crowded ? std::min(2 * pause_, pauses_.longest) : pauses_.shortest;
    narrowed_ = now;
    ++step_;
}

void TeamWidth::find_idle(double cpus, Ticks now) {
    constexpr double tolerance = 0.25;  // the system's figures are rounded
    if (step_ == 0 || cpus < widths_[step_ - 1] - widths_[step_] - tolerance) return;
    pause_ = pauses_.shortest;
    widen(now);
}

void TeamWidth::widen(Ticks now) {
    widened_ = now;
    narrowed_ = now;
    --step_;
}

}  // namespace mge
