// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/threads.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>

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
    if (!had_team.load(std::memory_order_relaxed)) [[unlikely]] {
        static const int registered = pthread_atfork(nullptr, nullptr, forget_team_in_child);
        (void)registered;
        had_team.store(true, std::memory_order_relaxed);
    }
    return threads;
}

bool is_team_lost() { return lost_team.load(std::memory_order_relaxed); }

}  // namespace mge
