// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/cpu/affinity.h"

#include <sched.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "libmge/base/error.h"
#include "libmge/base/thread_team.h"

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

// 0, or the system's error.
int pin_this_thread(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0 ? 0 : errno;
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

void pin_threads(std::span<const int> cpus) {
    allowed_cpus();  // as they are before anything is pinned
    int threads = team_size(int(cpus.size()));
    std::atomic<int> failure{0}, failed_cpu{0};
    auto pin = [&](int i) {
        if (int error = pin_this_thread(cpus[size_t(i)])) {
            failure = error;
            failed_cpu = cpus[size_t(i)];
        }
    };
    run_shares(threads, [&](int share, int) {
        meet_other_shares();  // each share has a thread of its own now
        pin(share);
    });
    if (failure)
        throw DeviceError(
            text("a thread cannot be pinned to CPU ", failed_cpu.load(), ": ", std::strerror(failure)));
}

}  // namespace mge
