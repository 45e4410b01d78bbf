// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <thread>

#include "libmge/base/api.h"

namespace mge {

// MemoryError when the system has no room for another thread. Whoever keeps threads in a vector reserves it
// first: a running thread that cannot be kept ends the process.
MGE_API std::thread start_thread(std::function<void()> work);

}  // namespace mge
