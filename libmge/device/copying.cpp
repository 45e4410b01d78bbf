// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/copying.h"

#include "libmge/base/error.h"
#include "libmge/device/device.h"

namespace mge {

CopyingDevice::~CopyingDevice() = default;

CopyingDevice* copying_device(DeviceId id) {
    return id.is_host() ? nullptr : dynamic_cast<CopyingDevice*>(&device(id));
}

StorageRef allocate_for_copies(DeviceId place, DeviceId peer, size_t bytes) {
    if (bytes && device(peer).locks_host_memory() && place != peer) try {
            return device(peer).allocate_host(bytes);
        } catch (const MemoryError&) {
        }
    return queue_of(place).allocate(bytes);
}

}  // namespace mge
