// SPDX-License-Identifier: Apache-2.0
#pragma once
// Devices, their memory and their queues. The CPU is built in; a further backend registers its kind when its
// library is loaded.

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
    size_t reserved = 0;       // bytes held from the system, the cached ones included
    size_t in_heap = 0;        // of those, what malloc() counts too
    size_t peak = 0;           // largest `allocated` since the last reset
    size_t limit = 0;          // 0: none
    size_t peak_reserved = 0;  // largest `reserved` since the last reset
    size_t page_locked = 0;    // of the host's memory: see Device::allocate_host
};

class MGE_API Device {
public:
    virtual ~Device() = default;
    virtual std::string model() const = 0;  // "AMD EPYC 9B14", for reports
    // What measured times depend on: the model and the versions of what computes there. A key of caches.
    virtual std::string fingerprint() const = 0;
    // By the stream number of a DeviceId; the same one each time.
    virtual Queue& queue(int stream) = 0;
    virtual MemoryStats memory() const = 0;
    virtual void set_memory_limit(size_t bytes) = 0;
    virtual void reset_peak() = 0;
    virtual void release_cached() = 0;  // give cached blocks back to the system
    // Waits for all of its queues.
    virtual void synchronize() = 0;
    // Memory of the host that copies to and from this device do best with: page-locked where the device can
    // do that. For a CPU it is plain memory.
    virtual StorageRef allocate_host(size_t bytes);
    virtual bool locks_host_memory() const { return false; }
    // Bytes of its memory, in all and free, whoever uses the rest. Main memory where nothing else is said.
    virtual MemoryStatus memory_status() const;
    // Of foreign data after which its caches hold nothing of what they held; 0: nothing is known of them.
    virtual size_t eviction_bytes() const { return 0; }
    // Ten times the compute capability of NVIDIA's GPUs; 0 for what is none.
    virtual int compute_capability() const { return 0; }
};

// "xpux", "cpu0", "cpu1:0", "multithread4:0", "gpu0" (or "cuda0"), "<name of a registered backend>0":
// UserError for anything else, DeviceError for a device that is not there. The first GPU that is named loads
// the backend of CUDA.
MGE_API DeviceId parse_device(std::string_view name);
MGE_API std::string logical_name(DeviceId id);   // as the user wrote it: "xpux:0", "cpu0:0"
MGE_API std::string physical_name(DeviceId id);  // "cpu0:0"

MGE_API Device& device(DeviceId id);

// Gives a new kind of device a number. `open` is called once per index at its first use; `count` devices
// exist; why there are none, if so, is for the DeviceError of who names one.
MGE_API uint8_t add_device_kind(std::string name, int count, Device& (*open)(int index),
                                std::string why_none = {});

// A new tensor with undefined contents.
MGE_API Tensor empty_tensor(const TensorSpec& spec, DeviceId id);
// A new tensor with a copy of host data (dense, row-major).
MGE_API Tensor tensor_from_host(const TensorSpec& spec, const void* data, DeviceId id);
MGE_API Tensor scalar_tensor(double value, DType dtype, DeviceId id);
// The same values in memory of another place. A tensor that lies there already is given back as it is.
MGE_API Tensor to_device(const Tensor& tensor, DeviceId id);
// The same where the host can read it.
MGE_API Tensor to_host(const Tensor& tensor);

// As a parameter of an operator a device is its name, as the user wrote it.
template <>
struct ParamCodec<DeviceId> {
    MGE_API static ParamValue get(DeviceId id);
    MGE_API static DeviceId set(const ParamValue& value);
};

}  // namespace mge
