// SPDX-License-Identifier: Apache-2.0
#pragma once
// Device memory that is shared between processes of one machine.

#include <cstddef>
#include <memory>
#include <string>

#include "libmge/base/api.h"
#include "libmge/tensor/storage.h"

namespace mge {

struct SharedBlock {
    std::string handle;            // names a segment of device memory across processes
    size_t offset = 0, bytes = 0;  // position of the block in that segment
};

// Implemented by devices that can share memory between processes.
class MGE_API SharingDevice {
public:
    virtual ~SharingDevice();
    // Exports a block. Earlier work of the device is complete when the call returns. The memory must not be
    // freed while another process uses it.
    virtual SharedBlock share(const Storage& storage) = 0;
    // Opens a block of another process. `keeper` is released with the last reference to the storage.
    virtual StorageRef open_shared(const SharedBlock& block, std::shared_ptr<const void> keeper) = 0;
};

}  // namespace mge
