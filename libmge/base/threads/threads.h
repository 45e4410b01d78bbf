// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/base/api.h"

namespace mge {

// Number of threads that this process can run in parallel: the minimum of its CPU affinity and its cgroup's
// CPU quota (v1 and v2), at least one.
MGE_API int usable_cpus();

// Number of threads that the cgroup's CPU quota keeps busy, rounded up: two for one and a half processors.
// Very large without a quota.
MGE_API int quota_cpus();

// Number of threads for an operator run from this thread: MGE_THREADS, otherwise usable_cpus().
MGE_API int default_threads();
MGE_API void set_default_threads(int threads);

}  // namespace mge
