// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sticky flag of the floating-point unit for invalid operations. Every operation that makes a NaN from
// numbers raises it. Comparisons of NaN raise it too, and so do maxima and minima on x86-64.

#include <atomic>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif
#include <cstdint>

namespace mge {

#ifdef __x86_64__
inline unsigned floating_point_status() { return _mm_getcsr(); }
inline void set_floating_point_status(unsigned status) { _mm_setcsr(status); }
inline constexpr unsigned invalid_operation = _MM_EXCEPT_INVALID;
#else
inline uint64_t floating_point_status() {
    uint64_t status;
    asm volatile("mrs %0, fpsr" : "=r"(status));
    return status;
}
inline void set_floating_point_status(uint64_t status) { asm volatile("msr fpsr, %0" : : "r"(status)); }
inline constexpr uint64_t invalid_operation = 1;
#endif

inline void clear_invalid_flag() { set_floating_point_status(floating_point_status() & ~invalid_operation); }
inline bool is_invalid_flag_raised() { return (floating_point_status() & invalid_operation) != 0; }

// Calls fn on this thread. Sets `raised` if fn raised the flag; flags that were up before are up afterwards.
template <class Fn>
void watch_invalid(std::atomic<bool>& raised, Fn&& fn) {
    const bool was_raised = is_invalid_flag_raised();
    clear_invalid_flag();
    fn();
    if (is_invalid_flag_raised())
        raised.store(true, std::memory_order_relaxed);
    else if (was_raised)
        set_floating_point_status(floating_point_status() | invalid_operation);
}

}  // namespace mge
