// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/copying.h"

#include "libmge/base/error.h"
#include "libmge/device/device.h"

namespace mge {

CopyingDevice::~CopyingDevice() = default;

CopyingDevice* copying_device(DeviceId id) {
    return id.is_host() ? nullptr : dynamic_cast<CopyingDevice*>(&device(id));
}

StorageRef allocate_beside(DeviceId place, DeviceId beside, size_t bytes) {
    if (bytes && device(beside).locks_host_memory() && place != beside) try {
            return device(beside).allocate_host(bytes);
        } catch (const MemoryError&) {
        }
    return queue_of(place).allocate(bytes);
}

}  // namespace mge
