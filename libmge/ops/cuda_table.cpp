// SPDX-License-Identifier: Apache-2.0
// The kernels of GPUs: what libmge_cuda.so brings.
#include "libmge/device/cuda/cuda_device.h"
#include "libmge/device/cuda/library.h"
#include "libmge/device/cuda/runtime.h"
#include "libmge/device/gpu.h"
#include "libmge/ops/all.h"
#include "libmge/ops/elementwise/elementwise.cuda.h"

namespace mge {
namespace {

// Operators without a kernel for GPUs, which raise an error there. The author of a kernel removes it from
// this list.
using NotOnGpus = TypeList<>;

template <class O, class... Listed>
constexpr bool is_listed(TypeList<Listed...>) {
    return (std::is_same_v<O, Listed> || ...);
}

template <class O>
constexpr bool runs_on_every_device() {
    if constexpr (requires { O::traits; })
        return O::traits.of_every_device;
    else
        return false;
}

template <class O>
constexpr KernelEntry entry() {
    if constexpr (runs_on_every_device<O>() || is_listed<O>(NotOnGpus{}))
        return {&O::info, nullptr};
    else if constexpr (ops::ElementwiseOp<O>)
        return {&O::info, ops::elementwise_kernels_of_gpus<O>};
    else
        return {&O::info, +[] { return kernels(Cuda{}, O{}); }};
}

template <class... O>
constexpr std::array<KernelEntry, sizeof...(O)> gpu_table(TypeList<O...>) {
    return {entry<O>()...};
}

int version_of(const char* library) {
    std::string_view name = library;
    if (name == "cuda") return CUDART_VERSION;
    if (name == "cudnn") return cuda::cudnn_version();
    int driver = 0;
    return name == "driver" && cudaDriverGetVersion(&driver) == cudaSuccess ? driver : 0;
}

const Backend& cuda_backend() {
    set_cuda_version(version_of);
    static constexpr auto table = gpu_table(AllOps{});
    static const auto installation = cuda::find_installation();
    static const Backend backend{backend_abi,
                                 "gpu",
                                 table,
                                 installation.devices,
                                 cuda::open_device,
                                 installation.why_unavailable.c_str()};
    return backend;
}

}  // namespace
}  // namespace mge

// For gpu.cpp, which loads this library when a GPU is first named.
extern "C" MGE_API void mge_add_cuda_backend() { mge::add_backend(mge::cuda_backend()); }
// For those who load it by its name, as any backend.
extern "C" MGE_API const mge::Backend* mge_backend() { return &mge::cuda_backend(); }
