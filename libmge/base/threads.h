// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/base/api.h"

namespace mge {

// How many threads this process can really use: the smaller of its CPU affinity and its cgroup's CPU quota
// (v1 and v2), at least one.
MGE_API int usable_cpus();

// The number of threads an operator run from this thread may use: MGE_THREADS, else usable_cpus().
MGE_API int default_threads();
MGE_API void set_default_threads(int threads);

// How many of `threads` threads may work together right now; whoever starts a team asks. It is one in a child
// made by fork() after this process had a team: the team's threads do not exist there, and waiting for them
// would never end. default_threads() becomes one there, too. MemoryError when the limit of the address space
// (`ulimit -v`) leaves no room for them.
MGE_API int team_size(int threads);
// True in such a child.
MGE_API bool is_team_lost();

}  // namespace mge
