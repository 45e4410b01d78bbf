// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "libmge/base/api.h"

namespace mge {

// Returns the CPUs this process may run on in ascending order: its cpuset, regardless of pinned threads.
MGE_API std::vector<int> allowed_cpus();

// 0, 2, 3 → "0,2-3".
MGE_API std::string cpu_list(std::span<const int> cpus);

// Calls `work` concurrently in each thread of the calling thread's team, with the thread's number; 0 is the
// calling thread. The team is the one that operators called from here use. Rethrows one of the exceptions.
MGE_API void in_each_thread(int threads, const std::function<void(int thread)>& work);

// Pins the calling thread to the first CPU and each other thread of its team to one of the rest. Throws
// DeviceError if the system refuses.
MGE_API void pin_threads(std::span<const int> cpus);

}  // namespace mge
