// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/threads/spin.h"

#include <algorithm>

namespace mge {
namespace {

Ticks measure_microsecond() {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::microseconds span(50);
    auto begin = Clock::now(), now = begin;
    Ticks first = ticks_now(), last = first;
    while (now - begin < span) {
        now = Clock::now();
        last = ticks_now();
    }
    double microseconds = std::chrono::duration<double, std::micro>(now - begin).count();
    return std::max<Ticks>(1, Ticks(double(last - first) / microseconds));
}

}  // namespace

Ticks ticks_per_microsecond() {
    static const Ticks ticks = measure_microsecond();
    return ticks;
}

}  // namespace mge
