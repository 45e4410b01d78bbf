// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/threads/system_tick.h"

#include <time.h>

#include <atomic>
#include <optional>

namespace mge {
namespace {

constexpr int watched_ticks = 6, most_attempts = 20;
// Nanoseconds. The tick itself keeps the CPU that it comes to for some tens of microseconds, a neighbour for
// milliseconds.
constexpr int64_t longest_gap = 300'000, tolerance = 200'000;

std::atomic<int64_t> known_tick{0};  // 0 while unknown

int64_t nanoseconds(const timespec& time) { return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec; }

int64_t nanoseconds_now(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return nanoseconds(time);
}

int64_t find_period() {
    timespec resolution{};
    bool is_known = ::clock_getres(CLOCK_MONOTONIC_COARSE, &resolution) == 0 && nanoseconds(resolution) > 0;
    return is_known ? nanoseconds(resolution) : 4'000'000;
}

int64_t period() {
    static const int64_t found = find_period();
    return found;
}

Ticks in_ticks(int64_t nanoseconds) { return nanoseconds * ticks_per_microsecond() / 1000; }

// The moment when the coarse clock advances; its value is not that time. nullopt if this thread was not
// running then.
std::optional<int64_t> watch_tick() {
    int64_t shown = nanoseconds_now(CLOCK_MONOTONIC_COARSE);
    int64_t begin = nanoseconds_now(CLOCK_MONOTONIC);
    for (int64_t last = begin; last - begin < 2 * period();) {
        bool has_moved = nanoseconds_now(CLOCK_MONOTONIC_COARSE) != shown;
        int64_t now = nanoseconds_now(CLOCK_MONOTONIC);
        if (now - last > longest_gap) return std::nullopt;
        if (has_moved) return now;
        last = now;
    }
    return std::nullopt;
}

}  // namespace

Ticks system_tick_period() { return in_ticks(period()); }

bool has_system_ticks() { return known_tick.load(std::memory_order_relaxed) != 0; }

void watch_system_ticks() {
    static std::atomic<int> attempts{0};
    if (attempts.load(std::memory_order_relaxed) >= most_attempts) return;
    attempts.fetch_add(1, std::memory_order_relaxed);
    std::optional<int64_t> before;
    for (int i = 0; i < watched_ticks; ++i) {
        auto tick = watch_tick();
        if (tick && before) {
            int64_t later = period() - until_tick(*tick, *before, period());
            // They are seen late, never early.
            if (later < tolerance) return known_tick.store(*before, std::memory_order_relaxed);
            if (period() - later < tolerance) return known_tick.store(*tick, std::memory_order_relaxed);
        }
        if (tick) before = tick;
    }
}

int64_t until_tick(int64_t now, int64_t tick, int64_t period) {
    int64_t since = (now - tick) % period;
    return since < 0 ? -since : period - since;
}

Ticks until_system_tick() {
    int64_t tick = known_tick.load(std::memory_order_relaxed);
    if (tick == 0) return system_tick_period();
    return in_ticks(until_tick(nanoseconds_now(CLOCK_MONOTONIC), tick, period()));
}

}  // namespace mge
