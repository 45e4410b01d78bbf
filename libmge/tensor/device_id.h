// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "libmge/base/api.h"

namespace mge {

// Which backend, which of its devices, which queue. Kind 0 is the CPU; other numbers are given out as
// backends are loaded. The logical name "xpux" means the default device; `is_default` keeps that spelling, it
// does not take part in equality.
struct DeviceId {
    uint8_t kind = 0;
    uint8_t index = 0;
    uint8_t stream = 0;
    bool is_default = true;
    bool operator==(const DeviceId& other) const {
        return kind == other.kind && index == other.index && stream == other.stream;
    }
};

}  // namespace mge
