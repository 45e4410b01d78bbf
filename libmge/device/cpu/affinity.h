// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "libmge/base/api.h"

namespace mge {

// The CPUs this process may run on, in rising order: its cpuset, whatever threads are pinned to.
MGE_API std::vector<int> allowed_cpus();

// 0, 2, 3 → "0,2-3".
MGE_API std::string cpu_list(std::span<const int> cpus);

// Calls `work` at once in each thread of the team that the calling thread works with, as many as operators
// called from here use, with its number: 0 is the calling thread. Throws what one of them threw.
MGE_API void in_each_thread(int threads, const std::function<void(int thread)>& work);

// Pins the calling thread to the first CPU and the other threads of the team it works with to the rest: one
// each, as many as operators called from here use. DeviceError when the system refuses.
MGE_API void pin_threads(std::span<const int> cpus);

}  // namespace mge
