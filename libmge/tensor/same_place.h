// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>

#include "libmge/tensor/device_id.h"

namespace mge {

// Equality on the fast path of every call: nearly always the ids are identical, which is one comparison.
inline bool is_same_place(const DeviceId& a, const DeviceId& b) {
    return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || a == b;
}

}  // namespace mge
