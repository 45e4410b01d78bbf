// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "libmge/base/api.h"

namespace mge {

// Bytes of main memory that this process may use: the smaller of the system's and its control groups'
// limits.
struct MemoryStatus {
    uint64_t total = 0, free = 0;
};
MGE_API MemoryStatus memory_status();

}  // namespace mge
