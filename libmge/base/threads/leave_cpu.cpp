// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/threads/leave_cpu.h"

#include <sched.h>

namespace mge {

bool leave_cpu(int cpu) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (cpu < 0 || cpu >= CPU_SETSIZE || ::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
    cpu_set_t others = allowed;
    CPU_CLR(cpu, &others);
    if (CPU_COUNT(&others) == 0 || ::sched_setaffinity(0, sizeof others, &others) != 0) return false;
    return ::sched_setaffinity(0, sizeof allowed, &allowed) == 0;
}

}  // namespace mge
