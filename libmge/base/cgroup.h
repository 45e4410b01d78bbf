// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "libmge/base/api.h"

namespace mge {

// The limits of this process's control groups (cgroup v1 and v2). A group's limit applies to all groups
// inside it: each limit is the smallest of the process's own group and its mounted ancestors. std::nullopt
// without a limit. `root` is a prefix of the absolute paths.

struct CpuQuota {
    double cpus;        // 0.5: half of one processor's time
    std::string group;  // the folder of the group that sets it
};
MGE_API std::optional<CpuQuota> cpu_quota(const std::string& root = {});

struct MemoryLimit {
    uint64_t bytes;
    uint64_t used;  // in the group that sets the limit, without memory that can be reclaimed immediately
    std::string group;
};
MGE_API std::optional<MemoryLimit> memory_limit_of_groups(const std::string& root = {});

}  // namespace mge
