// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/cuda/cudnn.h"

#include <array>

#include "libmge/base/error.h"
#include "libmge/device/cuda/library.h"
#include "libmge/device/cuda/runtime.h"

namespace mge::cuda {
namespace {

Cudnn open_cudnn() {
    Library library("libcudnn_graph.so.9", "cudnn");
    Cudnn x;
    library.take(x.create, "cudnnCreate");
    library.take(x.version, "cudnnGetVersion");
    library.take(x.set_stream, "cudnnSetStream");
    library.take(x.error_string, "cudnnGetErrorString");
    library.take(x.last_error, "cudnnGetLastErrorString");
    library.take(x.create_descriptor, "cudnnBackendCreateDescriptor");
    library.take(x.destroy_descriptor, "cudnnBackendDestroyDescriptor");
    library.take(x.set_attribute, "cudnnBackendSetAttribute");
    library.take(x.get_attribute, "cudnnBackendGetAttribute");
    library.take(x.finalize, "cudnnBackendFinalize");
    library.take(x.execute, "cudnnBackendExecute");
    x.why_not = library.why_not();
    return x;
}

// Handles live as long as the process.
struct Slot {
    std::mutex mutex;
    cudnnHandle_t handle{};
};
Slot& slot_of(int device) {
    static std::array<Slot, 256> slots;
    return slots.at(size_t(device));
}

}  // namespace

const Cudnn& cudnn() {
    static const Cudnn opened = open_cudnn();
    return opened;
}

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
