// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of a GPU that another process shares, by CUDA's handles of whole segments. A segment is opened once,
// whatever number of blocks of it is used.

#include "libmge/device/sharing.h"

namespace mge::cuda {

// Where the driver's piece begins that a BlockPool has cut a storage of; null for other storage of GPUs.
void* segment_of(const Storage& storage);
// The handle of memory that begins at an address that the driver has given.
std::string handle_of(void* segment);
StorageRef open_block(const SharedBlock& block, int device, std::shared_ptr<const void> keeper);
// Null when the storage was not made by open_block.
const SharedBlock* opened_block(const Storage& storage);

}  // namespace mge::cuda
