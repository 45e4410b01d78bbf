// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>

namespace mge::load_and_run {

using Clock = std::chrono::steady_clock;

inline double milliseconds(Clock::duration duration) {
    return std::chrono::duration<double, std::milli>(duration).count();
}
inline double milliseconds_since(Clock::time_point start) { return milliseconds(Clock::now() - start); }

}  // namespace mge::load_and_run
