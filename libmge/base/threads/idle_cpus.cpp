// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/threads/idle_cpus.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

namespace mge {
namespace {

constexpr Ticks look_interval = 40'000;  // microseconds: four of the system's steps
constexpr Ticks looks_per_cost = 100;

// The system's current counters for the CPUs that this thread may use. Allocates nothing, because it is
// called during runs.
std::optional<int64_t> idle_time_now() {
    int file = ::open("/proc/stat", O_RDONLY | O_CLOEXEC);
    if (file < 0) return std::nullopt;
    cpu_set_t set;
    CPU_ZERO(&set);
    bool is_usable[CPU_SETSIZE];
    bool is_known = ::sched_getaffinity(0, sizeof set, &set) == 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) is_usable[cpu] = CPU_ISSET(cpu, &set);
    std::optional<int64_t> sum;
    std::array<char, 8192> text;  // some lines; there may be a thousand, and the stack may be small
    size_t size = 0;
    while (is_known) {
        ssize_t got = ::read(file, text.data() + size, text.size() - 1 - size);
        if (got <= 0) break;
        size += size_t(got);
        text[size] = 0;
        char* end = std::strrchr(text.data(), '\n');
        if (!end) break;
        *end = 0;
        auto idle = idle_time(text.data(), is_usable);
        if (idle) sum = sum.value_or(0) + *idle;
        if (std::strncmp(text.data(), "cpu", 3) != 0) break;
        size -= size_t(end + 1 - text.data());
        std::memmove(text.data(), end + 1, size);
    }
    ::close(file);
    return sum;
}

}  // namespace

std::optional<int64_t> idle_time(const char* stat, const bool (&is_usable)[1024]) {
    std::optional<int64_t> sum;
    // "cpu3 user nice system idle iowait …"; the line of "cpu " is the sum of all.
    for (const char* line = stat; line && std::strncmp(line, "cpu", 3) == 0;) {
        int cpu = 0;
        long long idle = 0, waits = 0;
        bool is_parsed = std::sscanf(line, "cpu%d %*u %*u %*u %lld %lld", &cpu, &idle, &waits) == 3;
        if (is_parsed && line[3] != ' ' && cpu >= 0 && cpu < 1024 && is_usable[cpu])
            sum = sum.value_or(0) + idle + waits;
        line = std::strchr(line, '\n');
        if (line) ++line;
    }
    return sum;
}

void IdleCpus::start(Ticks now) {
    since_ = now;
    idle_ = idle_time_now();
    Ticks cost = ticks_now() - now;
    next_ = now + std::max(look_interval * ticks_per_microsecond(), looks_per_cost * cost);
}

std::optional<double> IdleCpus::look(Ticks now) {
    if (now < next_) return std::nullopt;
    auto idle_before = idle_;
    auto since_before = since_;
    start(now);
    if (!idle_before || !idle_) return std::nullopt;
    constexpr double microseconds_per_step = 10'000;
    return double(*idle_ - *idle_before) * microseconds_per_step * double(ticks_per_microsecond()) /
           double(now - since_before);
}

}  // namespace mge
