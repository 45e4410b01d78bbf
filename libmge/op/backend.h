// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where operators meet devices: one kernel table per backend. The CPU's is part of libmge
// (ops/cpu_table.cpp); another backend is a shared object that exports one C function returning a Backend. It
// links with -Wl,--no-undefined, so a forgotten kernel fails its link.

#include <array>
#include <cstdint>
#include <span>

#include "libmge/device/device.h"
#include "libmge/kernel/algorithm.h"
#include "libmge/op/op.h"

namespace mge {

struct Cpu {};
struct Cuda {};

template <class... T>
struct TypeList {
    static constexpr size_t size = sizeof...(T);
};

struct KernelEntry {
    const OpInfo* op;
    KernelList (*kernels)();  // null: this backend does not have the operator
};

// Raised whenever Algorithm, Problem, Launch, OpInfo, Device, Queue or Tensor change their meaning or size.
inline constexpr uint32_t backend_abi = 4;

struct Backend {
    uint32_t abi;
    const char* name;  // the name of its devices: "cuda" → cuda0
    std::span<const KernelEntry> kernels;
    int device_count;
    Device& (*open_device)(int index);
};

template <class O>
concept CpuOnly = requires {
    requires O::cpu_only;
};

template <class B, class O>
constexpr KernelEntry kernel_entry() {
    if constexpr (CpuOnly<O> && !std::is_same_v<B, Cpu>)
        return {&O::info, nullptr};
    else
        return {&O::info, +[] { return kernels(B{}, O{}); }};
}
template <class B, class... O>
constexpr std::array<KernelEntry, sizeof...(O)> kernel_table(TypeList<O...>) {
    return {kernel_entry<B, O>()...};
}

// Registers a backend and gives its kind number; DeviceError when its ABI is another one.
MGE_API uint8_t add_backend(const Backend& backend);
// Loads a shared object and calls its C function `symbol` (returning const Backend*); DeviceError when that
// fails.
MGE_API uint8_t load_backend(const char* path, const char* symbol);

// The algorithms of an operator on a device; DeviceError when the backend does not have it.
MGE_API KernelList find_kernels(const OpInfo& op, DeviceId device);

// Defined by ops/cpu_table.cpp.
std::span<const KernelEntry> cpu_kernel_table();

}  // namespace mge
