// SPDX-License-Identifier: Apache-2.0
#pragma once
// Devices of Lite and places of the engine.

#include <cstddef>
#include <string>

#include "libmge/base/api.h"
#include "libmge/tensor/device_id.h"
#include "lite/common_enum_c.h"

namespace lite {

// "CPU"; an Error for a number that is not a LiteDeviceType.
std::string name_of(LiteDeviceType type);
// Error for a number that is not a LiteBackend.
void require_backend(LiteBackend backend);
// LITE_DEVICE_DEFAULT is the CPU, id -1 is 0. Error with the reason and the available devices if the device
// is missing or this build does not support its type.
mge::DeviceId device_of(LiteDeviceType type, int id, int stream = 0);
LiteDeviceType device_type_of(mge::DeviceId device);
// Number of usable devices; 0 for a type that this build does not support.
size_t device_count(LiteDeviceType type);

// From now on LITE_CUDA means devices of this type ("gpu" by default), which must have been added. For tests.
MGE_API void let_cuda_mean(std::string kind);

}  // namespace lite
