// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/run/async_level.h"

#include <algorithm>

namespace mge {
namespace {

constexpr int per_place = 2, off_caller = 4;  // bits of the level

}  // namespace

std::vector<int> threads_of_places(std::span<const DeviceId> places, int level) {
    std::vector<int> threads;
    if (level == 0) return std::vector<int>(places.size(), 0);
    bool is_by_place = (level & per_place) && places.size() > 1;
    int last = 0, of_cpus = 0;
    for (DeviceId place : places) {
        if (is_by_place || !place.is_host()) {
            threads.push_back(++last);
            continue;
        }
        if (of_cpus == 0) of_cpus = ++last;
        threads.push_back(of_cpus);
    }
    bool is_in_caller = last < 2 && !(level & off_caller);
    if (is_in_caller) std::ranges::fill(threads, 0);
    return threads;
}

}  // namespace mge
