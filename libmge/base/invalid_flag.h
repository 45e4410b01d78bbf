// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sticky flag of the floating-point unit for invalid operations. Comparisons, maxima and minima of NaN
// raise it, and so does every operation that makes a NaN from numbers.

#include <xmmintrin.h>

#include <atomic>

namespace mge {

inline void clear_invalid_flag() { _mm_setcsr(_mm_getcsr() & ~unsigned(_MM_EXCEPT_INVALID)); }
inline bool is_invalid_flag_raised() { return (_mm_getcsr() & _MM_EXCEPT_INVALID) != 0; }

// Calls fn on this thread. Sets `raised` if fn raised the flag; flags that were up before are up afterwards.
template <class Fn>
void watch_invalid(std::atomic<bool>& raised, Fn&& fn) {
    const bool was_raised = is_invalid_flag_raised();
    clear_invalid_flag();
    fn();
    if (is_invalid_flag_raised())
        raised.store(true, std::memory_order_relaxed);
    else if (was_raised)
        _mm_setcsr(_mm_getcsr() | _MM_EXCEPT_INVALID);
}

}  // namespace mge
