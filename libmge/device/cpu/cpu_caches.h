// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "libmge/base/api.h"

namespace mge {

// A cache that the first CPU reads data through.
struct CpuCache {
    int level = 0;
    size_t bytes = 0;
    int cpus = 1;  // that share it
    bool operator==(const CpuCache&) const = default;
};

// Returns the caches by level; empty if the system does not describe them. `folder` is where Linux does.
MGE_API std::vector<CpuCache> cpu_caches(const std::string& folder = "/sys/devices/system/cpu/cpu0/cache");

}  // namespace mge
