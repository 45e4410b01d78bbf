// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cudnn_graph.h>

#include <mutex>
#include <string>

namespace mge::cuda {

// The functions of cuDNN's backend API, loaded at run time.
struct Cudnn {
    std::string why_not;  // empty if the library is usable

    decltype(&cudnnCreate) create = nullptr;
    decltype(&cudnnGetVersion) version = nullptr;
    decltype(&cudnnSetStream) set_stream = nullptr;
    decltype(&cudnnGetErrorString) error_string = nullptr;
    decltype(&cudnnGetLastErrorString) last_error = nullptr;
    decltype(&cudnnBackendCreateDescriptor) create_descriptor = nullptr;
    decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor = nullptr;
    decltype(&cudnnBackendSetAttribute) set_attribute = nullptr;
    decltype(&cudnnBackendGetAttribute) get_attribute = nullptr;
    decltype(&cudnnBackendFinalize) finalize = nullptr;
    decltype(&cudnnBackendExecute) execute = nullptr;

    // Throws DeviceError with the call and cuDNN's message unless the status is success.
    void check(cudnnStatus_t status, const std::string& call) const;
};
const Cudnn& cudnn();

// Locks a device's cuDNN handle, which only one thread at a time may use. Makes the device current for the
// calling thread.
class CudnnHandle {
public:
    explicit CudnnHandle(int device);
    cudnnHandle_t get() const { return handle_; }

private:
    std::unique_lock<std::mutex> turn_;
    cudnnHandle_t handle_;
};

}  // namespace mge::cuda
