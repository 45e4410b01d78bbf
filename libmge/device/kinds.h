// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "libmge/base/api.h"

namespace mge {

// A kind of device, such as "gpu" for "gpu0" and "gpu1".
struct DeviceKind {
    std::string name;
    int count = 0;
    std::string why_unavailable;
};

// Returns the registered kinds besides the CPU, in order of registration.
MGE_API std::vector<DeviceKind> added_device_kinds();

// Calls Device::release_cached() of all devices in use.
MGE_API void release_cached_memory();

}  // namespace mge
