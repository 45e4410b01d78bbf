// SPDX-License-Identifier: Apache-2.0
#pragma once
// Teams of threads that share a piece of work. Each thread that asks for it has a team of its own and is its
// first member. Work is cut into as many shares as the team has threads, and a share is *claimed* by whoever
// comes first: nobody waits for a thread that has not begun. On a quiet machine each thread takes the share
// of its own number, and so finds in its caches what it left there.
//
// Threads wait for work awake for a moment, then asleep. Beside busy neighbours fewer of them take part
// (TeamWidth); the shares stay the same, so results do not depend on it.
//
// oneDNN works with the same teams (openmp_imports.h): two pools that wait awake would fight for the CPUs.

#include <type_traits>

#include "libmge/base/api.h"

namespace mge {

// How many of `threads` threads may work together right now; whoever starts a team asks, and they exist then.
// It is one in a child made by fork() after this process had a team: the team's threads do not exist there,
// and waiting for them would never end. default_threads() becomes one there, too. MemoryError when the system
// refuses a thread, or when the limit of the address space (`ulimit -v`) leaves no room for them.
MGE_API int team_size(int threads);
// True in such a child.
MGE_API bool is_team_lost();

// Calls fn(argument, share, shares) for each share and returns when all are done. `shares` is what
// team_size() allowed; inside a share there is one only. fn throws nothing.
using Share = void (*)(void* argument, int share, int shares);
// Whether a share may wait, in a loop of its own, for what another one does: then each gets a thread. Those
// that only meet_other_shares() get theirs when they come to that.
enum class Waiting { never, for_each_other };
MGE_API void run_shares(int shares, Share fn, void* argument, Waiting waiting = Waiting::never);

template <class Fn>
void run_shares(int shares, Fn&& fn) {
    using Plain = std::remove_reference_t<Fn>;
    run_shares(
        shares, [](void* argument, int share, int all) { (*static_cast<Plain*>(argument))(share, all); },
        const_cast<std::remove_const_t<Plain>*>(&fn));
}

// In a share: returns when every share of its team has come here. After it each is known to be with a thread
// of its own.
MGE_API void meet_other_shares();

// True in a share, also in one of a region inside it, which has one share only.
MGE_API bool is_in_share();

// Where this thread is: its share and how many there are; 0 of 1 outside.
struct Place {
    int share = 0, shares = 1;
};
MGE_API Place place_in_team();

// Whose threads they are: our own, or OpenMP's where oneDNN's calls cannot be led to ours, or where
// MGE_THREAD_TEAM=openmp asks for it.
enum class TeamKind { own, openmp };
MGE_API TeamKind team_kind();

}  // namespace mge
