// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/cpu/affinity.h"

#include <sched.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "libmge/base/error.h"
#include "libmge/base/threads/first_failure.h"
#include "libmge/base/threads/thread_team.h"

namespace mge {
namespace {

std::vector<int> cpus_of_thread() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> cpus;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    return cpus;
}

void pin_this_thread(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        throw DeviceError(text("a thread cannot be pinned to CPU ", cpu, ": ", std::strerror(errno)));
}

}  // namespace

std::vector<int> allowed_cpus() {
    static const std::vector<int> cpus = cpus_of_thread();
    return cpus;
}

std::string cpu_list(std::span<const int> cpus) {
    std::string list;
    for (size_t i = 0; i < cpus.size();) {
        size_t last = i;
        while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
        list += text(list.empty() ? "" : ",", cpus[i]);
        if (last > i) list += text('-', cpus[last]);
        i = last + 1;
    }
    return list;
}

void in_each_thread(int threads, const std::function<void(int thread)>& work) {
    int shares = team_size(threads);
    auto caller = std::this_thread::get_id();
    std::atomic<int> share_of_caller{0};
    FirstFailure failure;
    run_shares(shares, [&](int share, int) {
        bool is_caller = std::this_thread::get_id() == caller;
        if (is_caller) share_of_caller = share;
        meet_other_shares();  // Blocks until every share runs in a thread of its own.
        // Any thread may have claimed share 0, which belongs to the caller: swap the two numbers.
        int number = is_caller ? 0 : share == 0 ? share_of_caller.load() : share;
        failure.guard([&] { work(number); });
    });
    failure.rethrow();
}

void pin_threads(std::span<const int> cpus) {
    allowed_cpus();  // caches the set before it is changed
    in_each_thread(int(cpus.size()), [&](int thread) { pin_this_thread(cpus[size_t(thread)]); });
}

}  // namespace mge
