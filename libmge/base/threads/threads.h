// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/base/api.h"

namespace mge {

// How many threads this process can really use: the smaller of its CPU affinity and its cgroup's CPU quota
// (v1 and v2), at least one.
MGE_API int usable_cpus();

// How many threads the cgroup's CPU quota keeps busy: two for one and a half processors. Many without a
// quota.
MGE_API int quota_cpus();

// The number of threads an operator run from this thread may use: MGE_THREADS, else usable_cpus().
MGE_API int default_threads();
MGE_API void set_default_threads(int threads);

}  // namespace mge
