// SPDX-License-Identifier: Apache-2.0
#pragma once
// Devices, their memory and their queues. The CPU is built in; other backends register their kind of device
// when their library is loaded.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "libmge/base/api.h"
#include "libmge/base/memory_status.h"
#include "libmge/base/reflect.h"
#include "libmge/device/queue.h"
#include "libmge/tensor/device_id.h"
#include "libmge/tensor/tensor.h"

namespace mge {

struct MemoryStats {
    size_t allocated = 0;      // bytes in use by tensors
    size_t reserved = 0;       // bytes held from the system, including cached ones
    size_t in_heap = 0;        // the part of `reserved` that malloc() also counts
    size_t peak = 0;           // largest `allocated` since the last reset
    size_t limit = 0;          // 0: no limit
    size_t peak_reserved = 0;  // largest `reserved` since the last reset
    size_t page_locked = 0;    // host memory, see Device::allocate_host
};

// A device of the machine. Thread-safe. It lives as long as the process.
class MGE_API Device {
public:
    virtual ~Device() = default;
    virtual std::string model() const = 0;  // "AMD EPYC 9B14", for reports
    // The key of caches of measured times: the model and the versions of the libraries that compute there.
    virtual std::string fingerprint() const = 0;
    // Returns the queue of a stream number (DeviceId::stream), always the same one.
    virtual Queue& queue(int stream) = 0;
    virtual MemoryStats memory() const = 0;
    virtual void set_memory_limit(size_t bytes) = 0;
    virtual void reset_peak() = 0;
    virtual void release_cached() = 0;  // returns cached blocks to the system
    // Waits for all queues of the device.
    virtual void synchronize() = 0;
    // Allocates host memory for fast copies to and from this device: page-locked if the device supports that,
    // plain memory for a CPU.
    virtual StorageRef allocate_host(size_t bytes);
    virtual bool locks_host_memory() const { return false; }
    // Total and free bytes of the device's memory, counting all processes. Defaults to main memory.
    virtual MemoryStatus memory_status() const;
    // Bytes of unrelated data to read in order to evict the device's caches; 0 if unknown.
    virtual size_t eviction_bytes() const { return 0; }
    // Ten times the compute capability of an NVIDIA GPU; 0 for other devices.
    virtual int compute_capability() const { return 0; }
};

// Parses "xpux", "cpu0", "cpu1:0", "multithread4:0", "gpu0" (or "cuda0"), "<name of a registered backend>0".
// Throws UserError for anything else and DeviceError for a device that does not exist. The first GPU name
// loads the CUDA backend.
MGE_API DeviceId parse_device(std::string_view name);
MGE_API std::string logical_name(DeviceId id);   // as the user wrote it: "xpux:0", "cpu0:0"
MGE_API std::string physical_name(DeviceId id);  // "cpu0:0"

// Returns the device of an id; opens it at its first use. Throws DeviceError if that fails.
MGE_API Device& device(DeviceId id);

// Registers a kind of device and returns its number. `open` is called once per index, at its first use. If
// `count` is 0, `why_unavailable` becomes the DeviceError for its names.
MGE_API uint8_t add_device_kind(std::string name, int count, Device& (*open)(int index),
                                std::string why_unavailable = {});

// Returns a new tensor with undefined contents.
MGE_API Tensor empty_tensor(const TensorSpec& spec, DeviceId id);
// Returns a new tensor with a copy of host data (dense, row-major).
MGE_API Tensor tensor_from_host(const TensorSpec& spec, const void* data, DeviceId id);
// Returns a new tensor of shape () with the value, converted to the dtype.
MGE_API Tensor scalar_tensor(double value, DType dtype, DeviceId id);
// Returns the tensor itself if it is on the device already, else a copy there.
MGE_API Tensor to_device(const Tensor& tensor, DeviceId id);
// Returns the tensor itself if the host can read it, else a copy in host memory.
MGE_API Tensor to_host(const Tensor& tensor);

// The operator parameter for a device is its name as the user wrote it.
template <>
struct ParamCodec<DeviceId> {
    MGE_API static ParamValue get(DeviceId id);
    MGE_API static DeviceId set(const ParamValue& value);
};

}  // namespace mge
