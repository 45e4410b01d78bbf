// SPDX-License-Identifier: Apache-2.0
#pragma once
// Access of GPUs to each other's memory.

namespace mge::cuda {

// Returns the GPU that owns an address which `device` is to read. On a machine with one GPU that is `device`.
int owner_of(const void* address, int device);

// Enables direct access of `reader` to the memory of `owner`, once per pair. If the hardware cannot do it,
// the driver copies through the host.
void open_peer(int reader, int owner);

}  // namespace mge::cuda
