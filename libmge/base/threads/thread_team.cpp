// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/threads/thread_team.h"

#include <atomic>
#include <memory>

#include "libmge/base/address_space.h"
#include "libmge/base/env.h"
#include "libmge/base/error.h"
#include "libmge/base/log.h"
#include "libmge/base/threads/at_fork.h"
#include "libmge/base/threads/openmp_imports.h"
#include "libmge/base/threads/openmp_team.h"
#include "libmge/base/threads/own_team.h"
#include "libmge/base/threads/team_place.h"
#include "libmge/base/threads/threads.h"

#ifdef __GLIBC__
#include <execinfo.h>
#endif

namespace mge {
namespace {

std::atomic<bool> had_team{false}, lost_team{false};

const InChild forget_team([] {
    if (!had_team.load(std::memory_order_relaxed)) return;
    set_default_threads(1);
    lost_team.store(true, std::memory_order_relaxed);
});

// The largest team that this thread has had: its members exist.
[[gnu::tls_model("initial-exec")]] constinit thread_local int largest_team = 1;
[[gnu::tls_model("initial-exec")]] constinit thread_local OwnTeam* own_team = nullptr;

// Ends the team with its thread. A child made by fork() has no members to wait for.
struct TeamOwner {
    std::unique_ptr<OwnTeam> team;
    ~TeamOwner() {
        own_team = nullptr;
        largest_team = 1;
        if (is_team_lost()) (void)team.release();
    }
};

void make_own_team(int threads) {
    thread_local TeamOwner owner;
    own_team = nullptr;
    owner.team.reset();  // before the larger one: the system may allow no more threads than that
    owner.team = std::make_unique<OwnTeam>(threads);
    own_team = owner.team.get();
}

// A stack for each, and the C library's mappings for it.
size_t bytes_of_threads(int threads) {
    constexpr size_t libc_mappings = 1 << 20;
    size_t stack = 0;
    pthread_attr_t attributes;
    if (::pthread_attr_init(&attributes) != 0) return 0;
    ::pthread_attr_getstacksize(&attributes, &stack);
    ::pthread_attr_destroy(&attributes);
    return size_t(threads) * (stack + libc_mappings);
}

// Threads end by pthread_exit, whose first call in glibc loads the unwinder and ends the process if out of
// memory: it is loaded now.
void load_unwinder() {
#ifdef __GLIBC__
    void* frame = nullptr;
    ::backtrace(&frame, 1);
#endif
}

void make_team(int threads) {
    require_address_space(bytes_of_threads(threads - 1), text("a team of ", threads, " threads"));
    load_unwinder();
    largest_team = 1;
    if (team_kind() == TeamKind::own) make_own_team(threads);
    had_team.store(true, std::memory_order_relaxed);
    largest_team = threads;
}

TeamKind choose_kind() {
    auto wanted = env_string("MGE_THREAD_TEAM");
    if (wanted && *wanted != "own" && *wanted != "openmp")
        throw_value_error("MGE_THREAD_TEAM", "'", *wanted, "' is neither own nor openmp");
    if (wanted == "openmp" && has_openmp_team) return TeamKind::openmp;
    if (lead_openmp_imports_to_teams()) return TeamKind::own;
    if (!has_openmp_team) return TeamKind::own;
    if (wanted)
        log_warning(
            "MGE_THREAD_TEAM=own: oneDNN's calls of OpenMP cannot be led to our threads; OpenMP's are used");
    return TeamKind::openmp;
}

}  // namespace

TeamKind team_kind() {
    static const TeamKind kind = choose_kind();
    return kind;
}

int team_size(int threads) {
    if (threads <= 1 || lost_team.load(std::memory_order_relaxed)) return 1;
    if (threads > largest_team) [[unlikely]]
        make_team(threads);
    return threads;
}

bool is_team_lost() { return lost_team.load(std::memory_order_relaxed); }

void run_shares(int shares, Share fn, void* argument, Waiting waiting) {
    if (is_in_share()) {
        PlaceInTeam place(PlaceInTeam::team(), 0, 1);
        return fn(argument, 0, 1);
    }
    if (shares <= 1 || is_team_lost()) return fn(argument, 0, 1);
    if (!own_team) [[unlikely]]
        return run_openmp_shares(shares, fn, argument);
    own_team->run(shares, fn, argument, waiting);
}

void meet_other_shares() {
    auto place = place_in_team();
    if (place.shares <= 1) return;
    if (OwnTeam* team = PlaceInTeam::team()) return team->meet(place.shares);
    meet_openmp_shares();
}

constinit thread_local PlaceInTeam::Here PlaceInTeam::here_;

Place place_in_team() { return PlaceInTeam::place(); }
bool is_in_share() { return PlaceInTeam::is_inside(); }

}  // namespace mge
