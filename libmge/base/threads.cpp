// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/threads.h"

#include <execinfo.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "libmge/base/address_space.h"
#include "libmge/base/cgroup.h"
#include "libmge/base/env.h"
#include "libmge/base/error.h"

namespace mge {
namespace {

constexpr int most_threads = 1024;

int affinity_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    // Fails where the kernel knows more processors than a set holds.
    bool is_known = sched_getaffinity(0, sizeof set, &set) == 0;
    return std::max(1, is_known ? CPU_COUNT(&set) : int(::sysconf(_SC_NPROCESSORS_ONLN)));
}

// A quota of one and a half processors keeps two threads busy.
int quota_cpus() {
    auto quota = cpu_quota();
    return quota ? int(std::ceil(std::clamp(quota->cpus, 1.0, double(most_threads)))) : most_threads;
}

std::atomic<int>& threads_setting() {
    static std::atomic<int> threads{0};
    return threads;
}

std::atomic<bool> had_team{false}, lost_team{false};

void forget_team_in_child() {
    if (!had_team.load(std::memory_order_relaxed)) return;
    lost_team.store(true, std::memory_order_relaxed);
    threads_setting().store(1, std::memory_order_relaxed);
}

// The largest team that this thread has had: its members exist.
[[gnu::tls_model("initial-exec")]] constinit thread_local int largest_team = 1;

// A stack for each, and what the C library maps with it.
size_t bytes_of_threads(int threads) {
    constexpr size_t beside_stack = 1 << 20;
    size_t stack = 0;
    pthread_attr_t attributes;
    if (::pthread_getattr_default_np(&attributes) != 0) return 0;
    ::pthread_attr_getstacksize(&attributes, &stack);
    ::pthread_attr_destroy(&attributes);
    return size_t(threads) * (stack + beside_stack);
}

void note_team(int threads) {
    static const int registered = pthread_atfork(nullptr, nullptr, forget_team_in_child);
    (void)registered;
    require_address_space(bytes_of_threads(threads - 1), text("a team of ", threads, " threads"));
    // OpenMP's threads end by pthread_exit, which looks for the unwinder when it is first called and ends the
    // process for want of memory: it is found now.
    void* frame = nullptr;
    ::backtrace(&frame, 1);
    had_team.store(true, std::memory_order_relaxed);
    largest_team = threads;
}

int threads_from_environment() {
    auto value = env_int("MGE_THREADS");
    if (!value) return usable_cpus();
    if (*value < 1 || *value > most_threads)
        throw_user("MGE_THREADS", text(*value, " is not between 1 and ", most_threads), ErrorClass::value);
    return int(*value);
}

}  // namespace

int usable_cpus() {
    static const int cpus = std::min({affinity_cpus(), quota_cpus(), most_threads});
    return cpus;
}

int default_threads() {
    int threads = threads_setting().load(std::memory_order_relaxed);
    if (threads > 0) [[likely]]
        return threads;
    threads = threads_from_environment();
    threads_setting().store(threads, std::memory_order_relaxed);
    return threads;
}

void set_default_threads(int threads) {
    if (threads < 1 || threads > most_threads)
        throw_user("threads", text(threads, " is not between 1 and ", most_threads), ErrorClass::value);
    if (!is_team_lost()) threads_setting().store(threads, std::memory_order_relaxed);
}

int team_size(int threads) {
    if (threads <= 1 || lost_team.load(std::memory_order_relaxed)) return 1;
    if (threads > largest_team) [[unlikely]]
        note_team(threads);
    return threads;
}

bool is_team_lost() { return lost_team.load(std::memory_order_relaxed); }

}  // namespace mge
