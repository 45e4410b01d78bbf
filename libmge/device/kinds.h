// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "libmge/base/api.h"

namespace mge {

// Devices of one kind: "gpu0" and "gpu1".
struct DeviceKind {
    std::string name;
    int count = 0;
    std::string why_none;
};

// What was added to the CPU, in the order in which it came.
MGE_API std::vector<DeviceKind> added_device_kinds();

// Device::release_cached() of all devices that somebody has used.
MGE_API void release_cached_memory();

}  // namespace mge
