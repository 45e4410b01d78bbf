// SPDX-License-Identifier: Apache-2.0
#pragma once
// The default device of new tensors, for interfaces that users call. Internal code gets its device from
// operands or options.

#include <optional>

#include "libmge/device/device.h"

namespace mge {

// Returns the calling thread's default device, or that of the process if the thread has none.
MGE_API DeviceId default_device();
// Sets the default of the process, which applies to all threads without one of their own.
MGE_API void set_default_device(DeviceId id);

// Sets the calling thread's default device and returns the previous one. nullopt selects that of the process.
MGE_API std::optional<DeviceId> exchange_thread_device(std::optional<DeviceId> id);

// Sets the calling thread's default device for the life of the scope. Scopes nest.
class DefaultDevice {
public:
    explicit DefaultDevice(DeviceId id) : outer_(exchange_thread_device(id)) {}
    ~DefaultDevice() { exchange_thread_device(outer_); }
    DefaultDevice(const DefaultDevice&) = delete;
    DefaultDevice& operator=(const DefaultDevice&) = delete;

private:
    std::optional<DeviceId> outer_;
};

inline Tensor empty_tensor(const TensorSpec& spec) { return empty_tensor(spec, default_device()); }
inline Tensor tensor_from_host(const TensorSpec& spec, const void* data) {
    return tensor_from_host(spec, data, default_device());
}
inline Tensor scalar_tensor(double value, DType dtype) {
    return scalar_tensor(value, dtype, default_device());
}

}  // namespace mge
