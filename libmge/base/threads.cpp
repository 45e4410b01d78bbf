// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/threads.h"

#include <execinfo.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>

#include "libmge/base/address_space.h"
#include "libmge/base/env.h"
#include "libmge/base/error.h"

namespace mge {
namespace {

int affinity_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return std::numeric_limits<int>::max();
    return CPU_COUNT(&set);
}

int cpus_from(double quota, double period) {
    if (!(quota > 0) || !(period > 0)) return std::numeric_limits<int>::max();
    return std::max(1, int(std::ceil(quota / period)));
}

// cgroup v2: "max 100000" or "150000 100000".
int quota_v2() {
    std::ifstream file("/sys/fs/cgroup/cpu.max");
    std::string quota;
    double period = 0;
    if (!(file >> quota >> period) || quota == "max") return std::numeric_limits<int>::max();
    return cpus_from(std::atof(quota.c_str()), period);
}

int quota_v1() {
    std::ifstream quota_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"),
        period_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
    double quota = 0, period = 0;
    if (!(quota_file >> quota) || !(period_file >> period)) return std::numeric_limits<int>::max();
    return cpus_from(quota, period);
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
    if (*value < 1 || *value > 1024)
        throw_user("MGE_THREADS", text(*value, " is not between 1 and 1024"), ErrorClass::value);
    return int(*value);
}

}  // namespace

int usable_cpus() {
    static const int cpus = std::max(1, std::min({affinity_cpus(), quota_v2(), quota_v1()}));
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
    if (threads < 1 || threads > 1024)
        throw_user("threads", text(threads, " is not between 1 and 1024"), ErrorClass::value);
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
