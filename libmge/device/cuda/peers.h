// SPDX-License-Identifier: Apache-2.0
#pragma once
// GPUs that read each other's memory.

namespace mge::cuda {

// The GPU on which an address lies that `device` is to read: itself on a machine with one.
int owner_of(const void* address, int device);

// Lets `reader` get at the memory of `owner` without the host, where the two can do that; else the driver
// copies through the host. Once for each pair.
void open_peer(int reader, int owner);

}  // namespace mge::cuda
