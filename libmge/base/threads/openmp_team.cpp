// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/threads/openmp_team.h"

#ifdef _OPENMP
#include <omp.h>
#endif

#include "libmge/base/threads/team_place.h"

namespace mge {

#ifdef _OPENMP

const bool has_openmp_team = true;

void run_openmp_shares(int shares, Share fn, void* argument) {
#pragma omp parallel num_threads(shares)
    {
        int share = omp_get_thread_num(), all = omp_get_num_threads();
        PlaceInTeam place(nullptr, share, all);
        fn(argument, share, all);
    }
}

void meet_openmp_shares() {
#pragma omp barrier
}

int openmp_threads() { return omp_get_max_threads(); }
void set_openmp_threads(int threads) { omp_set_num_threads(threads); }
void forbid_openmp_teams() { omp_set_max_active_levels(0); }

#else

const bool has_openmp_team = false;
void run_openmp_shares(int, Share fn, void* argument) { fn(argument, 0, 1); }
void meet_openmp_shares() {}
int openmp_threads() { return 1; }
void set_openmp_threads(int) {}
void forbid_openmp_teams() {}

#endif

}  // namespace mge
