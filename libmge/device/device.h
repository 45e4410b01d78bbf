// SPDX-License-Identifier: Apache-2.0
#pragma once
// Devices and their memory. The CPU is built in; a further backend registers its kind when its library is
// loaded.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "libmge/base/api.h"
#include "libmge/tensor/device_id.h"
#include "libmge/tensor/tensor.h"

namespace mge {

struct MemoryStats {
    size_t allocated = 0;  // bytes in use by tensors
    size_t reserved = 0;   // bytes held from the system, the cached ones included
    size_t in_heap = 0;    // of those, what malloc() counts too
    size_t peak = 0;       // largest `allocated` since the last reset
    size_t limit = 0;      // 0: none
};

class MGE_API Device {
public:
    virtual ~Device() = default;
    virtual std::string model() const = 0;  // "AMD EPYC 9B14", for cache keys and reports
    // At least `bytes` bytes aligned to 64; MemoryError when the limit or the system refuses.
    virtual StorageRef allocate(size_t bytes) = 0;
    virtual MemoryStats memory() const = 0;
    virtual void set_memory_limit(size_t bytes) = 0;
    virtual void reset_peak() = 0;
    virtual void release_cached() = 0;  // give cached blocks back to the system
    virtual void copy_from_host(void* target, const void* source, size_t bytes) = 0;
    virtual void copy_to_host(void* target, const void* source, size_t bytes) = 0;
    virtual void synchronize() = 0;
};

// "xpux", "cpu0", "cpu1:0", "multithread4:0", "gpu0", "<name of a registered backend>0": UserError for
// anything else, DeviceError for a device that is not there.
MGE_API DeviceId parse_device(std::string_view name);
MGE_API std::string logical_name(DeviceId id);   // as the user wrote it: "xpux:0", "cpu0:0"
MGE_API std::string physical_name(DeviceId id);  // "cpu0:0"

MGE_API Device& device(DeviceId id);
MGE_API DeviceId default_device();
MGE_API void set_default_device(DeviceId id);

// Gives a new kind of device a number. `open` is called once per index at its first use; `count` devices
// exist.
MGE_API uint8_t add_device_kind(std::string name, int count, Device& (*open)(int index));

// A new tensor with undefined contents.
MGE_API Tensor empty_tensor(const TensorSpec& spec, DeviceId id = default_device());
// A new tensor with a copy of host data (dense, row-major).
MGE_API Tensor tensor_from_host(const TensorSpec& spec, const void* data, DeviceId id = default_device());
MGE_API Tensor scalar_tensor(double value, DType dtype, DeviceId id = default_device());

}  // namespace mge
