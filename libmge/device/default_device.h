// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where new tensors lie when nobody says where: for those who face users. All else is told, by its operands
// or its options.

#include <optional>

#include "libmge/device/device.h"

namespace mge {

// The calling thread's, where a DefaultDevice says one; else that of the process.
MGE_API DeviceId default_device();
// Of the process: for all threads that have none of their own.
MGE_API void set_default_device(DeviceId id);

// Of the calling thread, until further notice; nullopt: that of the process. Gives the one before.
MGE_API std::optional<DeviceId> exchange_thread_device(std::optional<DeviceId> id);

// The calling thread's default device for the life of the scope; scopes nest.
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
