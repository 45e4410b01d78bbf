// SPDX-License-Identifier: Apache-2.0
#pragma once
// GPU memory that another process shares through CUDA IPC handles of whole segments. A segment is opened once
// for all of its blocks.

#include "libmge/device/sharing.h"

namespace mge::cuda {

// Returns the start of the driver allocation that contains a storage of a BlockPool; nullptr for other GPU
// storage.
void* segment_of(const Storage& storage);
// Returns the IPC handle of a driver allocation, given its start.
std::string handle_of(void* segment);
StorageRef open_block(const SharedBlock& block, int device, std::shared_ptr<const void> keeper);
// Returns nullptr unless open_block() made the storage.
const SharedBlock* opened_block(const Storage& storage);

}  // namespace mge::cuda
