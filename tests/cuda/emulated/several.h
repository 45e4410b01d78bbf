// SPDX-License-Identifier: Apache-2.0
#pragma once
// The part of NVIDIA's runtime (cuda_runtime_api.h) that is about several GPUs, processes, and whose device a
// thread uses. The library's own device folder alone asks for it, which is built with this header before all.

#include "cuda_runtime_api.h"

inline constexpr auto cudaErrorDeviceUninitialized = cudaError_t(201),
                      cudaErrorPeerAccessUnsupported = cudaError_t(217),
                      cudaErrorInvalidResourceHandle = cudaError_t(400),
                      cudaErrorPeerAccessAlreadyEnabled = cudaError_t(704),
                      cudaErrorMpsClientTerminated = cudaError_t(810);
inline constexpr unsigned cudaIpcMemLazyEnablePeerAccess = 1;

struct cudaIpcMemHandle_t {
    char reserved[64];
};

cudaError_t cudaGetDevice(int* device);
cudaError_t cudaMemcpyPeerAsync(void* target, int target_device, const void* source, int source_device,
                                size_t bytes, cudaStream_t);
cudaError_t cudaDeviceCanAccessPeer(int* is_able, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* address);
cudaError_t cudaIpcOpenMemHandle(void** address, cudaIpcMemHandle_t handle, unsigned flags);
cudaError_t cudaIpcCloseMemHandle(void* address);

namespace mge::cuda::emulated {

// The device that the calling thread has chosen.
int device_of_thread();

// --- for tests ---

// Whether GPUs can read each other's memory; no access is enabled yet.
void set_peer_access(bool has);
// So many copies went from one to the other without the host.
size_t copies_between_peers();

}  // namespace mge::cuda::emulated
