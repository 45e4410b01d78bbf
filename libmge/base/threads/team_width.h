// SPDX-License-Identifier: Apache-2.0
#pragma once
// The number of threads of a team that take part in its regions: all of them while each has its own CPU,
// fewer next to busy neighbours. A thread that loses its CPU in the middle of its share makes all others wait
// for a time slice of some milliseconds, which costs more than computing its share elsewhere. So after such a
// loss the team becomes narrower for a pause. Then it tries again, and each quick failure doubles the pause.
// The pause ends immediately when the system reports enough idle CPUs. Instead of one thread, OwnTeam
// continues with two that take care.
//
// In a container with a CPU quota, more threads only consume it sooner, with additional overhead: there a
// team is never wider than the quota.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mge {

class TeamWidth {
public:
    using Ticks = int64_t;  // ticks of any steady clock
    struct Pauses {
        Ticks shortest, longest;
        // A team that kept its width for this long is not crowded: the disturbance was temporary.
        Ticks calm;
    };
    // At most `widest` of them at a time.
    TeamWidth(int threads, int widest, Pauses pauses);

    // The width for a region that starts now.
    int at(Ticks now) {
        if (step_ > 0 && now - narrowed_ >= pause_) [[unlikely]]
            widen(now);
        return widths_[step_];
    }
    bool is_narrow() const { return step_ > 0; }
    // Reports a number of idle CPUs besides those of the team.
    void find_idle(double cpus, Ticks now);
    // Reports that a thread lost its CPU. Losses noticed together count once.
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
