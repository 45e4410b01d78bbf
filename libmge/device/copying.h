// SPDX-License-Identifier: Apache-2.0
#pragma once
// Asynchronous copies between a device and the host that overlap with the device's computation.

#include <cstddef>
#include <cstdint>

#include "libmge/base/api.h"
#include "libmge/device/queue.h"

namespace mge {

enum class CopyWay : uint8_t { to_device, to_host };

// Implemented by devices that can copy while they compute.
class MGE_API CopyingDevice {
public:
    virtual ~CopyingDevice();
    // Returns the copy queue of a stream for one direction. Copy queues do not follow the order of the
    // stream's own queue: use events.
    virtual Queue& copies(int stream, CopyWay way) = 0;
    // Enqueues a copy. Returns false if the copy is already complete because the host memory is not
    // page-locked; otherwise the host memory must stay valid until the queue is done with it.
    virtual bool start_copy(int stream, CopyWay way, void* target, const void* source, size_t bytes) = 0;
    // Throws the errors that completed work of the stream's own queue has left. Call it after waiting for a
    // copy of that work's results.
    virtual void throw_faults(int stream) = 0;
};

// Returns nullptr if the device copies only in its ordinary queues.
CopyingDevice* copying_device(DeviceId id);

// Allocates memory on `place`. Host memory is page-locked for the device `peer` if the device supports it,
// which makes copies to it fastest; page-locked memory may be scarce.
StorageRef allocate_for_copies(DeviceId place, DeviceId peer, size_t bytes);

}  // namespace mge
