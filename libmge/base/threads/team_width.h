// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many threads of a team take part in its regions: all of them while each has a CPU to itself, fewer
// beside busy neighbours. A thread that loses its CPU in the middle of its share makes all others wait for a
// time slice, some milliseconds, which costs more than doing its share costs. So whenever one was lost the
// team becomes narrower for a pause; then it tries again, and each time this fails soon the pause doubles.
// When the system says that enough CPUs are idle the pause ends at once. Where one would be left, OwnTeam
// goes on with two that take care.
//
// In a container with a quota of CPU time more threads than that only spend it sooner, with what they cost
// themselves: there a team is never wider.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mge {

class TeamWidth {
public:
    using Ticks = int64_t;  // of any steady clock
    struct Pauses {
        Ticks shortest, longest;
        // A team that held for so long after it was widened is not crowded: what disturbed it was a moment's.
        Ticks calm;
    };
    // At most `widest` of them at once, whatever happens.
    TeamWidth(int threads, int widest, Pauses pauses);

    // For a region that starts now.
    int at(Ticks now) {
        if (step_ > 0 && now - narrowed_ >= pause_) [[unlikely]]
            widen(now);
        return widths_[step_];
    }
    bool is_narrow() const { return step_ > 0; }
    // So many CPUs have nothing to do, besides those of the team.
    void find_idle(double cpus, Ticks now);
    // A thread has lost its CPU. What threads notice together counts once.
    void lose_cpu(Ticks now);

private:
    void widen(Ticks now);

    // From the widest to one. Shares are not divided again, so that results do not depend on the width: a
    // width between two of these would take as many rounds as the narrower one.
    std::vector<int> widths_;
    Pauses pauses_;
    size_t step_ = 0;
    Ticks pause_, narrowed_ = 0, widened_ = 0;
};

}  // namespace mge
