// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "libmge/base/error.h"
#include "libmge/device/cuda/cudnn.h"
#include "libmge/device/cuda/runtime.h"

namespace mge::cuda {
namespace {

// Handles are never destroyed.
struct Slot {
    std::mutex mutex;
    cudnnHandle_t handle{};
};
Slot& slot_of(int device) {
    static std::array<Slot, 256> slots;
    return slots.at(size_t(device));
}

}  // namespace

void Cudnn::check(cudnnStatus_t status, const std::string& call) const {
    if (status == CUDNN_STATUS_SUCCESS) [[likely]]
        return;
    std::array<char, 1000> why{};
    last_error(why.data(), why.size());
    throw DeviceError(
        text("cuda: cudnn", call, ": ", error_string(status), " (", int(status), "): ", why.data()));
}

CudnnHandle::CudnnHandle(int device) : turn_(slot_of(device).mutex) {
    use_device(device);
    auto& slot = slot_of(device);
    if (!slot.handle) cudnn().check(cudnn().create(&slot.handle), "Create");
    handle_ = slot.handle;
}

}  // namespace mge::cuda
