// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where operators meet devices: one kernel table per backend. The CPU's is part of libmge
// (ops/cpu_table.cpp); another backend is a shared object that exports one C function returning a Backend. It
// links with -Wl,--no-undefined, so a forgotten kernel fails its link.

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

// Specialized by the x.cuda.cpp of each operator.
template <class O>
KernelList kernels(Cuda, O);

template <class... T>
struct TypeList {
    static constexpr size_t size = sizeof...(T);
};

struct KernelEntry {
    const OpInfo* op;
    KernelList (*kernels)();  // null: this backend does not have the operator
};

template <class... T>
constexpr uint32_t hash_of_sizes() {
    uint32_t hash = 0;
    ((hash = hash * 31 + uint32_t(sizeof(T))), ...);
    return hash % 1'000'000;
}
// What shared objects that know these types have to agree on: a number, raised whenever one of them changes
// its meaning, and their sizes, which say themselves when they change.
inline constexpr uint32_t backend_abi =
    8'000'000 +
    hash_of_sizes<Algorithm, Problem, Launch, PrepareContext, Prepared, Candidate, OpInfo, InputInfo,
                  FieldInfo, GradientArguments, TensorSpec, TensorImpl, Device, Queue, std::string>();

struct Backend {
    uint32_t abi;
    const char* name;  // the name of its devices: "cuda" → cuda0
    std::span<const KernelEntry> kernels;
    int device_count;
    Device& (*open_device)(int index);
    const char* why_no_device = nullptr;  // when device_count is 0: what is missing, and what to do
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

// A problem of the operator on the host in one thread; who wants another sets the rest.
inline Problem make_problem(const OpInfo& op, const void* params, std::span<const TensorSpec> inputs,
                            std::span<const TensorSpec> outputs) {
    return {.op = op.name,
            .params = params,
            .fields = op.fields,
            .inputs = inputs,
            .outputs = outputs,
            .items_apart = op.items_apart};
}

// Registers a backend and gives its kind number; DeviceError when its ABI is another one.
MGE_API uint8_t add_backend(const Backend& backend);
// Loads a shared object and calls its C function `symbol` (returning const Backend*); DeviceError when that
// fails.
MGE_API uint8_t load_backend(const char* path, const char* symbol);

// Gives a kind of devices the kernels of more operators (operator_library.h), or other ones.
MGE_API void add_kernels(uint8_t kind, std::span<const KernelEntry> entries);

// The algorithms of an operator on a device; DeviceError when the backend does not have it.
MGE_API KernelList find_kernels(const OpInfo& op, DeviceId device);

// Defined by ops/cpu_table.cpp.
MGE_API std::span<const KernelEntry> cpu_kernel_table();

}  // namespace mge
