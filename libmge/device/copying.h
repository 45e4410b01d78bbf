// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies between a device and the host beside the device's work, for which nobody waits.

#include <cstddef>
#include <cstdint>

#include "libmge/base/api.h"
#include "libmge/device/queue.h"

namespace mge {

enum class CopyWay : uint8_t { to_device, to_host };

// What a device is besides that copies while it computes.
class MGE_API CopyingDevice {
public:
    virtual ~CopyingDevice();
    // For each of its queues, by the stream number, one more for each way. They know nothing of its order:
    // events do.
    virtual Queue& copies(int stream, CopyWay way) = 0;
    // Asks that queue for a copy. The host's memory is read or written when the queue comes to it; false
    // where that is over when the call returns, since it is not page-locked.
    virtual bool start_copy(int stream, CopyWay way, void* target, const void* source, size_t bytes) = 0;
    // Throws what the work of the stream's own queue, as far as it is done, has found wrong: for those who
    // have waited for a copy of its results.
    virtual void tell_faults(int stream) = 0;
};

// Null where it copies in its queues alone.
CopyingDevice* copying_device(DeviceId id);

// Memory at a place. What waits on the host for a device beside it comes and goes fastest in memory that is
// locked for that device; there may be little of it.
StorageRef allocate_beside(DeviceId place, DeviceId beside, size_t bytes);

}  // namespace mge
