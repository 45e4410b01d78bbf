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

}  // namespace mge
