// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lets one chosen allocation fail. The program that links failing_allocations.cpp replaces operator new and
// malloc for itself and for every library it uses; only what our own code asks for can fail, standard
// containers included: neither oneDNN nor OpenMP nor libc gets less than it wants.

namespace mge::test {

// Numbers the allocations of all threads from 1 on and lets the n-th fail; 0: none, they are only numbered.
void fail_allocation(long n);

struct Allocations {
    long seen = 0;            // since fail_allocation
    bool has_failed = false;  // false when the n-th was never made, or made by another library
};
// Nothing fails from now on.
Allocations stop_failing();

// Number of objects allocated by operator new and not yet freed, in the whole process.
long live_objects();

}  // namespace mge::test
