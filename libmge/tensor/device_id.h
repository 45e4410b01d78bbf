// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "libmge/base/api.h"

namespace mge {

// A backend, one of its devices, and a queue. Kind 0 is the CPU; other kinds get their numbers when backends
// are loaded. The logical name "xpux" means the default device; `is_default` keeps that spelling and does not
// count for equality.
//
// Two ids are the same device only if all three numbers agree: queues of one device share its memory but not
// their order, so moving from one to another copies.
struct DeviceId {
    uint8_t kind = 0;
    uint8_t index = 0;
    uint8_t stream = 0;
    bool is_default = true;
    constexpr bool operator==(const DeviceId& other) const {
        return kind == other.kind && index == other.index && stream == other.stream;
    }
    constexpr uint64_t hash() const { return uint64_t(kind) << 16 | uint64_t(index) << 8 | stream; }
    // The host reads and writes its memory directly, and its work is done when a call returns.
    constexpr bool is_host() const { return kind == 0; }
};

// The first CPU: the device of all values that the host computes itself. As the default device of a graph:
// see graph/place.h.
inline constexpr DeviceId host_device{};

}  // namespace mge
