// SPDX-License-Identifier: Apache-2.0
#pragma once
// OpenMP's threads instead of our own (thread_team.h), where it must be.

#include "libmge/base/threads/thread_team.h"

namespace mge {

extern const bool has_openmp_team;  // false when built without OpenMP
void run_openmp_shares(int shares, Share fn, void* argument);
void meet_openmp_shares();

// Number of OpenMP threads for parallel regions entered from this thread.
int openmp_threads();
void set_openmp_threads(int threads);
// Allows no region more than one thread from now on.
void forbid_openmp_teams();

}  // namespace mge
