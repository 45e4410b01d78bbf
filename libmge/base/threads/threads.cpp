// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/threads/threads.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "libmge/base/cgroup.h"
#include "libmge/base/env.h"
#include "libmge/base/error.h"
#include "libmge/base/threads/thread_team.h"

namespace mge {
namespace {

constexpr int most_threads = 1024;

int affinity_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    // Fails if the kernel has more processors than the set can contain.
    bool is_known = sched_getaffinity(0, sizeof set, &set) == 0;
    return std::max(1, is_known ? CPU_COUNT(&set) : int(::sysconf(_SC_NPROCESSORS_ONLN)));
}

std::atomic<int>& threads_setting() {
    static std::atomic<int> threads{0};
    return threads;
}

int threads_from_environment() {
    auto value = env_int("MGE_THREADS");
    if (!value) return usable_cpus();
    if (*value < 1 || *value > most_threads)
        throw_value_error("MGE_THREADS", *value, " is not between 1 and ", most_threads);
    return int(*value);
}

}  // namespace

int quota_cpus() {
    static const int cpus = [] {
        auto quota = cpu_quota();
        return quota ? int(std::ceil(std::clamp(quota->cpus, 1.0, double(most_threads)))) : most_threads;
    }();
    return cpus;
}

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
        throw_value_error("threads", threads, " is not between 1 and ", most_threads);
    if (!is_team_lost()) threads_setting().store(threads, std::memory_order_relaxed);
}

}  // namespace mge
