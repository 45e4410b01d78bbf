// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "libmge/base/api.h"

namespace mge {

// What the control groups of this process (cgroup v1 and v2) allow it. A group's limit holds for all groups
// inside of it: each limit is the smallest of the process's own group and of those around it, as far as they
// are mounted. std::nullopt when there is none. `root` stands before the absolute paths that are read.

struct CpuQuota {
    double cpus;        // 0.5: half of one processor's time
    std::string group;  // the folder of the group that sets it
};
MGE_API std::optional<CpuQuota> cpu_quota(const std::string& root = {});

struct MemoryLimit {
    uint64_t bytes;
    uint64_t used;  // by the group that sets it, without what the system can take back at once
    std::string group;
};
MGE_API std::optional<MemoryLimit> memory_limit_of_groups(const std::string& root = {});

}  // namespace mge
