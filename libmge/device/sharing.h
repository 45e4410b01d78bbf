// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of a device that several processes of one machine have.

#include <cstddef>
#include <memory>
#include <string>

#include "libmge/base/api.h"
#include "libmge/tensor/storage.h"

namespace mge {

struct SharedBlock {
    std::string handle;            // of a piece of the device's memory, for other processes
    size_t offset = 0, bytes = 0;  // where in it the block is
};

// What a device that can do so is besides.
class MGE_API SharingDevice {
public:
    virtual ~SharingDevice();
    // What was asked of the device before is done when the call returns. The memory must not be given back
    // while another process has it.
    virtual SharedBlock share(const Storage& storage) = 0;
    // What another process shares. `keeper` is released when nobody here has it any more.
    virtual StorageRef open_shared(const SharedBlock& block, std::shared_ptr<const void> keeper) = 0;
};

}  // namespace mge
