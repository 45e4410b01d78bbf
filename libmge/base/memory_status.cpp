// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/memory_status.h"

#include <unistd.h>

#include <algorithm>

#include "libmge/base/cgroup.h"

namespace mge {

MemoryStatus memory_status() {
    auto page = uint64_t(::sysconf(_SC_PAGESIZE));
    MemoryStatus result{page * uint64_t(::sysconf(_SC_PHYS_PAGES)),
                        page * uint64_t(::sysconf(_SC_AVPHYS_PAGES))};
    auto limit = memory_limit_of_groups();
    if (!limit) return result;
    result.total = std::min(result.total, limit->bytes);
    result.free = std::min(result.free, limit->bytes - std::min(limit->bytes, limit->used));
    return result;
}

}  // namespace mge
