// SPDX-License-Identifier: Apache-2.0
#pragma once
// Teams of threads that share work. Each thread that uses one has its own team and is its first member. Work
// is divided into as many shares as the team has threads, and a share is *claimed* by the first thread that
// is free: no thread waits for one that has not begun. On a quiet machine each thread takes the share of its
// own number, so that its caches contain the data of earlier work.
//
// Threads wait for work awake for a moment, then asleep. Beside busy neighbours fewer of them take part
// (TeamWidth); the shares stay the same, so results do not depend on it.
//
// oneDNN works with the same teams (openmp_imports.h): two pools that wait awake would fight for the CPUs.

#include <type_traits>

#include "libmge/base/api.h"

namespace mge {

// Number of threads, up to `threads`, that may work together now; called before a team starts, which creates
// them. It is one in a child made by fork() after this process had a team: the team's threads do not exist
// there, and waiting for them would never end. default_threads() also becomes one there. MemoryError if the
// system refuses a thread, or if the limit of the address space (`ulimit -v`) leaves no space for them.
MGE_API int team_size(int threads);
// True in such a child.
MGE_API bool is_team_lost();

// Calls fn(argument, share, shares) for each share and returns when all are done. `shares` is the result of
// team_size(), or 1 inside a share. fn must not throw.
using Share = void (*)(void* argument, int share, int shares);
// Whether a share may wait, in its own loop, for the result of another share: then each gets a thread. Shares
// that only call meet_other_shares() get their threads there.
enum class Waiting { never, for_each_other };
MGE_API void run_shares(int shares, Share fn, void* argument, Waiting waiting = Waiting::never);

template <class Fn>
void run_shares(int shares, Fn&& fn) {
    using Plain = std::remove_reference_t<Fn>;
    run_shares(
        shares, [](void* argument, int share, int all) { (*static_cast<Plain*>(argument))(share, all); },
        const_cast<std::remove_const_t<Plain>*>(&fn));
}

// Called in a share: returns when every share of its team has called it. Afterwards each share has its own
// thread.
MGE_API void meet_other_shares();

// True in a share, also in one of a region inside it, which has one share only.
MGE_API bool is_in_share();

// The share of this thread and the number of shares; 0 of 1 outside.
struct Place {
    int share = 0, shares = 1;
};
MGE_API Place place_in_team();

// The owner of the threads: our own, or OpenMP's if oneDNN's calls cannot be redirected to ours, or if
// MGE_THREAD_TEAM=openmp requests it.
enum class TeamKind { own, openmp };
MGE_API TeamKind team_kind();

}  // namespace mge
