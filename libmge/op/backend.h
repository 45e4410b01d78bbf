// SPDX-License-Identifier: Apache-2.0
#pragma once
// Connects operators and devices: one kernel table per backend. The CPU's is part of libmge
// (ops/cpu_table.cpp). Another backend is a shared object that exports one C function returning a Backend. It
// links with -Wl,--no-undefined, so that a missing kernel is a link error.

#include <array>
#include <cstdint>
#include <span>

#include "libmge/device/device.h"
#include "libmge/device/queue.h"
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
    KernelList (*kernels)();  // nullptr: the backend lacks the operator
};

template <class... T>
constexpr uint32_t hash_of_sizes() {
    uint32_t hash = 0;
    ((hash = hash * 31 + uint32_t(sizeof(T))), ...);
    return hash % 1'000'000;
}
// Detects incompatible shared objects: a number, incremented when the meaning of one of these types changes,
// plus a hash of their sizes.
inline constexpr uint32_t backend_abi =
    8'000'000 +
    hash_of_sizes<Algorithm, Problem, Launch, PrepareContext, Prepared, Candidate, OpInfo, InputInfo,
                  FieldInfo, GradientArguments, TensorSpec, TensorImpl, Device, Queue, std::string>();

struct Backend {
    uint32_t abi;
    const char* name;  // device name prefix: "cuda" → cuda0
    std::span<const KernelEntry> kernels;
    int device_count;
    Device& (*open_device)(int index);
    const char* why_no_device = nullptr;  // set if device_count is 0: what is missing, and the remedy
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

// Returns a problem of the operator on the host in one thread. The caller may change the other fields.
inline Problem make_problem(const OpInfo& op, const void* params, Specs inputs, Specs outputs) {
    return {.op = op.name,
            .params = params,
            .fields = op.fields,
            .inputs = inputs,
            .outputs = outputs,
            .batch_independence = op.batch_independence};
}

// Registers a backend and returns the number of its device kind. Throws DeviceError if its ABI differs.
MGE_API uint8_t add_backend(const Backend& backend);
// Loads a shared object and calls its C function `symbol`, which returns a const Backend*. Throws DeviceError
// on failure.
MGE_API uint8_t load_backend(const char* path, const char* symbol);

// Adds or replaces kernels of operators for a kind of device (operator_library.h).
MGE_API void add_kernels(uint8_t kind, std::span<const KernelEntry> entries);

// Returns the algorithms of an operator on a device. Throws DeviceError if its backend lacks the operator.
MGE_API KernelList find_kernels(const OpInfo& op, DeviceId device);

// Defined by ops/cpu_table.cpp.
MGE_API std::span<const KernelEntry> cpu_kernel_table();

}  // namespace mge
