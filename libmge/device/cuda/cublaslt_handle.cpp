// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <mutex>

#include "libmge/base/error.h"
#include "libmge/device/cuda/cublaslt.h"
#include "libmge/device/cuda/runtime.h"

namespace mge::cuda {

void CublasLt::check(cublasStatus_t status, const char* call) const {
    if (status == CUBLAS_STATUS_SUCCESS) [[likely]]
        return;
    throw DeviceError(text("cuda: ", call, ": ", status_name(status), " (", int(status), ')'));
}

// Handles are never destroyed.
cublasLtHandle_t cublaslt_handle(int device) {
    static std::array<cublasLtHandle_t, 256> handles{};
    static std::mutex mutex;
    use_device(device);
    std::lock_guard lock(mutex);
    auto& handle = handles.at(size_t(device));
    if (!handle) cublaslt().check(cublaslt().create(&handle), "cublasLtCreate");
    return handle;
}

}  // namespace mge::cuda
