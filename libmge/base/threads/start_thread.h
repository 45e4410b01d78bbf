// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <thread>

#include "libmge/base/api.h"

namespace mge {

// MemoryError if the system has no resources for another thread. Callers that store threads in a vector must
// reserve it first: a running thread that cannot be stored ends the process.
MGE_API std::thread start_thread(std::function<void()> work);

}  // namespace mge
