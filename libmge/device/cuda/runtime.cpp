// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/cuda/runtime.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "libmge/base/error.h"
#include "libmge/device/cuda/last_launches.h"

namespace mge::cuda {
namespace {

// Sticky errors: the process cannot use CUDA afterwards (see driver_types.h).
constexpr std::array lasting{
    cudaErrorIllegalAddress,      cudaErrorLaunchTimeout,     cudaErrorHardwareStackError,
    cudaErrorIllegalInstruction,  cudaErrorMisalignedAddress, cudaErrorInvalidAddressSpace,
    cudaErrorInvalidPc,           cudaErrorLaunchFailure,     cudaErrorAssert,
    cudaErrorExternalDevice,      cudaErrorTensorMemoryLeak,  cudaErrorContained,
    cudaErrorMpsClientTerminated,
};

std::atomic<bool> is_child{false};

bool is_lasting(cudaError_t status) { return std::ranges::find(lasting, status) != lasting.end(); }

std::string version_text(int version) { return text(version / 1000, '.', version % 1000 / 10); }

std::string why_insufficient(int driver) {
    return text("the NVIDIA driver knows CUDA ", version_text(driver), ", this build needs ",
                version_text(CUDART_VERSION), "; install a newer driver");
}

}  // namespace

void check(cudaError_t status, const char* call) {
    if (status == cudaSuccess) [[likely]]
        return;
    ignore(cudaGetLastError());  // clears non-sticky errors
    std::string what = text("cuda: ", call, ": ", cudaGetErrorName(status), " (", int(status),
                            "): ", cudaGetErrorString(status));
    if (status == cudaErrorMemoryAllocation) throw MemoryError(what);
    if (is_lasting(status))
        what += text("; the GPU is lost to this process, start it again; last launched: ", last_launches());
    throw DeviceError(what);
}

void use_device(int index) {
    static const bool watches_forks = [] {
        return pthread_atfork(nullptr, nullptr, [] { is_child = true; }) == 0;
    }();
    if (!watches_forks || is_child.load(std::memory_order_relaxed)) [[unlikely]]
        throw DeviceError("cuda: a GPU cannot be used in a child of fork(); start processes by spawn");
    // Other code may make another device current, so query the runtime each time.
    thread_local bool has_begun = false;
    int current = -1;
    if (has_begun && cudaGetDevice(&current) == cudaSuccess && current == index) [[likely]]
        return;
    check(cudaSetDevice(index), "cudaSetDevice");
    has_begun = true;
}

Installation find_installation() {
    int driver = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
        return {0, "no NVIDIA driver is installed (libcuda.so.1 is not found)"};
    int count = 0;
    cudaError_t status = cudaGetDeviceCount(&count);
    if (status == cudaSuccess && count > 0) return {count, {}};
    ignore(cudaGetLastError());
    if (status == cudaErrorInsufficientDriver) return {0, why_insufficient(driver)};
    if (status == cudaErrorNoDevice || status == cudaSuccess)
        return {0, "the NVIDIA driver finds no GPU; CUDA_VISIBLE_DEVICES may hide it"};
    return {0, text("the NVIDIA driver does not start: ", cudaGetErrorName(status), " (", int(status),
                    "): ", cudaGetErrorString(status))};
}

}  // namespace mge::cuda
