// SPDX-License-Identifier: Apache-2.0
#pragma once
// Counts calls of malloc and pthread_mutex_lock, by the library they come from. The program that links
// call_counter.cpp replaces both functions for itself and for every library it uses.

namespace mge::steady_state {

// The innermost library on the call stack decides; libc and libstdc++ are looked through.
struct CallCounts {
    long mge = 0, onednn = 0, openmp = 0, other = 0;
    long total() const { return mge + onednn + openmp + other; }
};

struct Counts {
    CallCounts allocations;  // malloc, calloc, realloc, aligned_alloc, posix_memalign
    CallCounts mutexes;      // pthread_mutex_lock
};

// Counts calls of all threads until stop_counting(). Not nested.
void start_counting();
Counts stop_counting();

}  // namespace mge::steady_state
