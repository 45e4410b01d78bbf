// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/threads/run_delay.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace mge {
namespace {

// Threads of the kernel make everybody wait for some microseconds now and then.
constexpr int64_t shortest_delay = 500'000;  // nanoseconds
constexpr double smallest_share = 0.02;
// Some time slices.
constexpr double of_late = 30'000'000;  // nanoseconds

}  // namespace

std::optional<int64_t> run_delay(pid_t thread) {
    std::array<char, 64> path, text;
    std::snprintf(path.data(), path.size(), "/proc/self/task/%d/schedstat", int(thread));
    int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return std::nullopt;
    ssize_t size = ::read(file, text.data(), text.size() - 1);
    ::close(file);
    text[size_t(std::max<ssize_t>(size, 0))] = 0;
    // time on a CPU, time waiting for one, time slices
    unsigned long long ran = 0, waited = 0;
    if (std::sscanf(text.data(), "%llu %llu", &ran, &waited) != 2 || ran == 0) return std::nullopt;
    return int64_t(waited);
}

bool RunDelay::was_long(Ticks now) {
    int64_t sum = 0, first = 0;
    for (size_t i = 0; i < threads_.size(); ++i) {
        auto delay = run_delay(threads_[i]);
        if (!delay) return true;
        sum += *delay;
        if (i == 0) first = *delay;
    }
    double nanoseconds = 1e3 * double(now - last_query_) / double(ticks_per_microsecond());
    int64_t delay = sum - last_;
    if (nanoseconds > 0) {
        double part = double(first - last_of_first_) / nanoseconds;
        of_first_ += (part - of_first_) * std::min(1.0, nanoseconds / of_late);
    }
    last_ = sum;
    last_of_first_ = first;
    last_query_ = now;
    return delay >= shortest_delay && double(delay) >= smallest_share * nanoseconds;
}

}  // namespace mge
